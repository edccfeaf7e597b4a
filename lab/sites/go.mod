// Nothing of these is built: lab/sites/external-crds.ts takes the custom resource definitions out of them, as they are published.
module plumbline.dev/lab/sites

go 1.26.0

require (
	github.com/csi-addons/kubernetes-csi-addons v0.14.0
	github.com/fluxcd/helm-controller v1.6.3
	github.com/fluxcd/kustomize-controller v1.9.4
	github.com/fluxcd/source-controller v1.9.0
	github.com/kedacore/keda/v2 v2.17.0
	istio.io/api v1.31.1
)
