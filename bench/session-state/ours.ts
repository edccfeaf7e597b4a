import { FrrClient } from "../../src/frr/client.ts";
import { sessions } from "../../src/frr/show.ts";
import { pollEverySecond } from "./poller.ts";

const [, , directory = "", neighbor] = process.argv;
const { signal } = new AbortController();
const router = new FrrClient({ directory });

pollEverySecond(
  async () => (await sessions(router, signal)).some((session) => session.neighbor === neighbor && session.state === "Established"),
  () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
);
