// Opening: samples, files, folders.

import { expect, test } from "vitest";
import { axe, openPage } from "./support/browser.ts";

test("the start page offers three samples and says that nothing is uploaded", async () => {
  const { page, close } = await openPage();
  expect(await page.getByRole("button", { name: /clean|wrong order|plane of ones/i }).count()).toBe(3);
  await page.getByText("Nothing is uploaded.").waitFor();
  expect(await axe(page)).toEqual([]);
  await close();
});

test("a sample opens with its tensors in a tree", async () => {
  const { page, close } = await openPage();
  await page.getByRole("button", { name: /^Clean/ }).click();
  await page.getByRole("treeitem", { name: /down_proj/ }).first().waitFor();
  expect(await page.evaluate(() => location.hash)).toBe("#src=sample:clean");
  expect(await axe(page)).toEqual([]);
  await close();
});
