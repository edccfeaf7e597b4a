import type { ResourceSelection } from "../resources/selection.ts";

/** For tests: the ConfigMaps of a namespace. */
export const configMaps: ResourceSelection = {
  resource: {
    group: "",
    version: "v1",
    kind: "ConfigMap",
    plural: "configmaps",
    singular: "configmap",
    scope: "Namespaced",
    shortNames: [],
    categories: [],
    verbs: [],
    versions: ["v1"],
  },
  namespace: "shop",
  names: [],
  selector: undefined,
};
