import { Service } from "../../src/api/core/service.ts";
import { accessFromKubeconfig } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { reportOn } from "./report.ts";

const [path = "", namespace = "", name = ""] = process.argv.slice(2);
const services = new KubeClient(await accessFromKubeconfig({ path })).resource(Service);
const { signal } = new AbortController();

await reportOn(() => services.get(name, { namespace, signal }));
