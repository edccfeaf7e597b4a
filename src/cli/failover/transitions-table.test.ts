import { expect, test } from "vitest";
import { plain } from "../print/color.ts";
import { drawSwitches } from "./transitions-table.ts";
import { ago, NOW, policy, waiting } from "../testing/failover-fixtures.ts";
import { switchesOf } from "./transitions.ts";

test("the running switch comes first, then earlier ones with their figures and force reasons", () => {
  expect(drawSwitches(switchesOf(policy({}, waiting)), NOW, plain)).toEqual([
    "TO          MODE     STARTED                TOOK         RPO   OUTCOME      LONGEST STEP         FORCED BECAUSE",
    "secondary   safe     2026-11-16T11:59:20Z   40s so far         Running      ScaleDown 2s",
    "primary     unsafe   2026-11-16T10:00:00Z   3m20s        12s   Completed    AwaitVolumes 3m10s   Site A burns",
    "secondary   safe     2026-11-16T09:30:00Z                      Superseded",
  ]);
});

test("with several policies each row has its policy", () => {
  const [made] = switchesOf(policy({}, { history: (waiting.history ?? []).slice(1) }));
  expect(made && drawSwitches([{ namespace: "shop", policy: "web", ...made }], NOW, plain)).toEqual([
    "NAMESPACE   POLICY   TO          MODE   STARTED                TOOK   RPO   OUTCOME      LONGEST STEP",
    "shop        web      secondary   safe   2026-11-16T09:30:00Z                Superseded",
  ]);
});

test("the last switch has its figures before it is in the history, also if the clock is ahead", () => {
  const over = {
    to: "secondary",
    mode: "safe",
    generation: 1,
    startTime: ago(90),
    completionTime: ago(30),
    writesStoppedTime: ago(60),
    steps: [],
  } as const;
  const figures = (lastSyncTime: string) => {
    const [made] = switchesOf(policy({}, { transition: { ...over, steps: [], lastSyncTime } }));
    return [made?.outcome, made?.seconds, made?.lossSeconds];
  };
  expect(figures(ago(75))).toEqual(["Completed", 60, 15]);
  expect(figures(ago(10))).toEqual(["Completed", 60, 0]);
});

test("the time until the volumes were writable is shown beside the total time", () => {
  const over = {
    to: "primary",
    mode: "safe",
    generation: 1,
    startTime: ago(90),
    completionTime: ago(30),
    volumesWritableTime: ago(70),
  } as const;
  expect(drawSwitches(switchesOf(policy({}, { transition: { ...over, steps: [] } })), NOW, plain)).toEqual([
    "TO        MODE   STARTED                VOLUMES   TOOK   RPO   OUTCOME     LONGEST STEP",
    `primary   safe   ${ago(90)}   20s       60s          Completed`,
  ]);
});
