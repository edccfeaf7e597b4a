{{/* What agent and FRR have in common: they belong to the node and share its network. */}}
{{- define "plumbline.node" -}}
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
{{- with .Values.agent.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.agent.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.agent.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  # frrvty in the image: the group of FRR's vty sockets.
  supplementalGroups: [85]
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "plumbline.node-mounts" -}}
- name: state
  mountPath: /var/lib/plumbline
- name: frr
  mountPath: /run/frr
- name: tmp
  mountPath: /tmp
- name: tmp
  mountPath: /var/tmp
{{- if .Values.router.enabled }}
- name: netns
  mountPath: /run/netns
  mountPropagation: HostToContainer
{{- end }}
{{- end }}

{{- define "plumbline.node-volumes" -}}
# State that must outlive pods and reboots: the last good configuration.
- name: state
  hostPath:
    path: /var/lib/plumbline
    type: DirectoryOrCreate
# FRR's sockets. Not /run/frr of the machine: another FRR may use it.
- name: frr
  hostPath:
    path: /run/plumbline/frr
    type: DirectoryOrCreate
- name: tmp
  emptyDir:
    medium: Memory
    sizeLimit: 64Mi
{{- if .Values.router.enabled }}
- name: netns
  hostPath:
    path: /run/netns
    type: DirectoryOrCreate
{{- end }}
{{- end }}
