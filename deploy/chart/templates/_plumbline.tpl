{{/* The labels of an object: whose it is. */}}
{{- define "plumbline.labels" -}}
app.kubernetes.io/name: plumbline
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* The labels by which the pods of a component are found: list of the root and the component. */}}
{{- define "plumbline.selector" -}}
app.kubernetes.io/name: plumbline
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "plumbline.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* A file with the namespaces that it is written for replaced by those of this release: list of the root and the file's text. */}}
{{- define "plumbline.placed" -}}
{{- $root := index . 0 -}}
{{- /* By way of words that no namespace is: one may be called as another is by default. */ -}}
{{- index . 1
  | replace "plumbline-system" "<own>"
  | replace "openperouter-system" "<router>"
  | replace "metallb-system" "<loadbalancer>"
  | replace "<own>" $root.Release.Namespace
  | replace "<router>" $root.Values.namespaces.router
  | replace "<loadbalancer>" $root.Values.namespaces.loadbalancer }}
{{- end }}

{{/* Whether to install a kind of Prometheus' operator: list of the root and on, off or auto. "true" or nothing. */}}
{{- define "plumbline.wanted" -}}
{{- $has := (index . 0).Capabilities.APIVersions.Has "monitoring.coreos.com/v1" -}}
{{- if or (eq (index . 1) "on") (and (eq (index . 1) "auto") $has) }}true{{ end -}}
{{- end }}

{{/* What a pod of the chart has in common with the others. */}}
{{- define "plumbline.pod" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}
