import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { reportOn } from "./report.ts";

const [path = "", namespace = "", name = ""] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(path);
const core = config.makeApiClient(CoreV1Api);

await reportOn(() => core.readNamespacedService({ name, namespace }));
