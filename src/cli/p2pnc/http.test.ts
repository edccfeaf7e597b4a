import { expect, test } from "vitest";
import { urlTarget } from "./http.ts";

test.each<[string, string]>([
  ["http://10.0.0.1:8080/healthz", "http://10.0.0.1:8080/healthz"],
  ["http://web.test", "http://web.test:80/"],
  ["HTTPS://web.test?ready", "https://web.test:443/?ready"],
  ["https://[fd00::1]/a", "https://[fd00::1]:443/a"],
  ["https://[fd00::1]:8443", "https://[fd00::1]:8443/"],
])("%s is requested as %s", (url, text) => {
  expect(urlTarget(url, {})).toMatchObject({ text });
});

test.each<[string, string]>([
  ["10.0.0.1:80", "10.0.0.1:80: not a URL; use http://HOST:PORT/PATH or https://HOST:PORT/PATH"],
  ["http://user@web.test/", "http://user@web.test/: a check sends no credentials; leave out what is before @"],
  ["http://web.test:0/", 'http://web.test:0/: Target "web.test:0": the port "0" is not between 1 and 65535'],
])("%s is refused", (url, problem) => {
  expect(() => urlTarget(url, {})).toThrow(problem);
});

test("the options become the expectation", () => {
  const options = { status: [200, 204], body: "ok", host: "shop.test", insecure: true };
  expect(urlTarget("https://10.0.0.1/", options).probed).toEqual({
    endpoint: "10.0.0.1:443",
    probe: { type: "HTTPS", path: "/", host: "shop.test", expect: { status: [200, 204], body: "ok" }, tls: { insecure: true } },
  });
  expect(() => urlTarget("http://10.0.0.1/", options)).toThrow("tls needs type HTTPS");
});
