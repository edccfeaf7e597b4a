import { expect, test } from "vitest";
import { ACCESS_LINK } from "../../../lab/net/topology.ts";
import { Service } from "../../../src/api/core/service.ts";
import { ServiceL2Status } from "../../../src/api/metallb/service-l2-status.ts";
import type { ServiceLab } from "../../support/service-lab.ts";

const TAKEN = "10.30.0.103";

/** Last of all, because here a machine that is not ours answers for an address of the segment. */
export function strangerTests(lab: () => ServiceLab): void {
  test("an address that another machine answers for is not acquired, is reported as in use with the MAC, and is acquired when it is free", async () => {
    const client = lab().host("client");
    await client.ip([`address add ${TAKEN}/32 dev ${ACCESS_LINK}`]);
    const [link] = JSON.parse(await client.do(["ip", "-j", "link", "show", ACCESS_LINK])) as [{ address: string }];
    await lab().apply(`
apiVersion: v1
kind: Service
metadata:
  name: taken
  namespace: default
  annotations: { metallb.io/loadBalancerIPs: ${TAKEN} }
spec: { type: LoadBalancer, selector: { app: wiki }, ports: [{ port: 80, targetPort: 8080 }] }
`);
    const announced = async () => {
      const { items } = await lab().lab.api.client.resource(ServiceL2Status).list({ namespace: "default", signal: lab().signal });
      const found = items.find(({ status }) => status?.service === "taken");
      const condition = found?.status?.conditions?.find(({ type }) => type === "Announced");
      return `${condition?.status} ${condition?.reason} ${condition?.message}`;
    };
    await expect.poll(announced, { timeout: 60_000 }).toMatch(new RegExp(`^False AddressInUse .*${link.address}`, "i"));
    expect(lab().addressHistory.holders(TAKEN)).toEqual([]);

    await client.ip([`address del ${TAKEN}/32 dev ${ACCESS_LINK}`]);
    await expect.poll(announced, { timeout: 60_000 }).toMatch(/^True /);
    expect(lab().addressHistory.holders(TAKEN)).toHaveLength(1);
    await lab().delete(Service, "taken", "default");
    await expect.poll(() => lab().addressHistory.holders(TAKEN), { timeout: 60_000 }).toEqual([]);
  });
}
