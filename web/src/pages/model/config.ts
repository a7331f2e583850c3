// `config.json` in a few lines, and all of it behind them.

import { h } from "../../dom.ts";

/** Keys worth a line, in this order. */
const KEYS: readonly [string, string][] = [
  ["model_type", "model type"],
  ["architectures", "architecture"],
  ["num_hidden_layers", "layers"],
  ["hidden_size", "hidden size"],
  ["intermediate_size", "intermediate size"],
  ["moe_intermediate_size", "intermediate size of experts"],
  ["num_attention_heads", "attention heads"],
  ["num_key_value_heads", "key and value heads"],
  ["n_routed_experts", "routed experts"],
  ["num_local_experts", "experts"],
  ["num_experts", "experts"],
  ["num_experts_per_tok", "experts a token"],
  ["vocab_size", "vocabulary"],
  ["max_position_embeddings", "positions"],
  ["torch_dtype", "dtype"],
  ["dtype", "dtype"],
];

/** Lines of what the config says that a person looks for. */
export function configLines(config: unknown): [string, string][] {
  if (!isObject(config)) return [];
  const inner = isObject(config.text_config) ? { ...config, ...config.text_config } : config;
  const lines = KEYS.flatMap(([key, name]): [string, string][] => {
    const value = inner[key];
    return value === undefined || value === null ? [] : [[name, Array.isArray(value) ? value.join(", ") : String(value)]];
  });
  const quantization = config.quantization_config;
  if (!isObject(quantization)) return lines;
  const facts = Object.entries(quantization).flatMap(([key, value]): [string, string][] => {
    const plain = ["string", "number", "boolean"].includes(typeof value);
    const list = Array.isArray(value) && value.every((item) => typeof item !== "object");
    return plain ? [[key, String(value)]] : list ? [[key, list && value.length > 6 ? `${value.length} entries` : value.join(", ")]] : [];
  });
  return [...lines, ...facts.map(([key, value]): [string, string] => [`quantization: ${key}`, value])];
}

/** The summary, with the whole text behind it. */
export function configSummary(config: unknown, quantConfig: unknown): HTMLElement {
  const lines = configLines(config);
  const raw = (name: string, value: unknown) =>
    value === null || value === undefined
      ? null
      : h("details", { class: "behind" }, h("summary", {}, name), h("pre", { class: "scroll raw", tabindex: 0, role: "region", "aria-label": name }, JSON.stringify(value, null, 1)));
  return h(
    "section",
    { class: "figure", "aria-label": "Configuration" },
    h("h2", {}, "Configuration"),
    lines.length === 0 ? h("p", { class: "empty" }, "The checkpoint has no config.json, or nothing in it that is known here.") : null,
    h("table", { class: "table lines-table" }, h("tbody", {}, ...lines.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value))))),
    raw("config.json", config),
    raw("hf_quant_config.json", quantConfig),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
