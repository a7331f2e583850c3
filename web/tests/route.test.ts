import { expect, test } from "vitest";
import { changed, parseRoute, routeHash } from "../src/route.ts";

test("a route survives its hash, whatever names hold", () => {
  const route = { src: "hub:org/model@main", w: "a.b/c d&e=f#g%20", view: "0,1,2,3", q: "layers.3 *" };
  expect(parseRoute(routeHash(route))).toEqual(route);
});

test("a hash stays readable and its keys are in one order", () => {
  expect(routeHash({ w: "layers.3.wo", src: "url:https://host/a.safetensors" })).toBe("#src=url:https://host/a.safetensors&w=layers.3.wo");
  expect(routeHash({})).toBe("#");
});

test("keys that are not known, and those without a value, are left out", () => {
  expect(parseRoute("#evil=1&src=&w=a")).toEqual({ w: "a" });
});

test("null takes a key away, other keys stay", () => {
  expect(changed({ src: "sample:clean", w: "a", b: "1,2" }, { w: "b", b: null })).toEqual({ src: "sample:clean", w: "b" });
});
