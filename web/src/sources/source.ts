// What a source is: files with sizes, and ranges of their bytes.

export interface ListedFile {
  name: string;
  bytes: number;
}

export interface Source {
  /** What a person calls the checkpoint. */
  readonly name: string;
  /** Whether reading costs a connection. */
  readonly reach: "local" | "remote";
  /** The files that may make a checkpoint. Rejects with a [`ProblemError`]. */
  list(signal: AbortSignal): Promise<ListedFile[]>;
  /**
   * Bytes `start` to `end` of a file, the end not included: just as many as asked for. Rejects with
   * a [`ProblemError`] that names the file.
   */
  read(file: string, start: number, end: number, signal: AbortSignal): Promise<Uint8Array>;
}

/** Files of a checkpoint that say how to read the others. */
export const CONFIGS = ["config.json", "hf_quant_config.json"] as const;
export const INDEX = "model.safetensors.index.json";
