// Files and folders that were dropped or chosen, under the names that they have in their folder.

import type { ChosenFile } from "../protocol/open.ts";

export interface Chosen {
  name: string;
  files: ChosenFile[];
}

/** What was dropped: files, or everything in one folder. */
export async function fromDrop(transfer: DataTransfer): Promise<Chosen | undefined> {
  // Entries have to be taken before the event is over.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? undefined);
  const plain = [...transfer.files];
  const folder = entries.length === 1 ? entries[0] : undefined;
  if (folder?.isDirectory) {
    return { name: folder.name, files: await inFolder(folder as FileSystemDirectoryEntry, "") };
  }
  return fromFiles(plain);
}

/** Files that were chosen one by one. */
export function fromFiles(files: readonly File[]): Chosen | undefined {
  const [first] = files;
  if (!first) return undefined;
  const weights = files.find(({ name }) => /\.(safetensors|gguf)$/.test(name)) ?? first;
  return { name: weights.name, files: files.map((file) => ({ name: file.name, file })) };
}

/** A folder that an input of files gave: names start with the folder's. */
export function fromFolderInput(files: readonly File[]): Chosen | undefined {
  const [first] = files;
  if (!first) return undefined;
  const inside = files.map((file) => ({ name: file.webkitRelativePath.split("/").slice(1).join("/") || file.name, file }));
  return { name: first.webkitRelativePath.split("/")[0] || first.name, files: inside };
}

/** A folder chosen through the File System Access API, where the browser has it. */
export async function pickFolder(): Promise<Chosen | undefined> {
  const pick = (window as { showDirectoryPicker?: () => Promise<FileSystemDirectoryHandle> }).showDirectoryPicker;
  if (!pick) return undefined;
  const folder = await pick.call(window);
  const files: ChosenFile[] = [];
  for await (const [name, handle] of folder.entries()) {
    if (handle.kind === "file") files.push({ name, file: await (handle as FileSystemFileHandle).getFile() });
  }
  return { name: folder.name, files };
}

export function canPickFolder(): boolean {
  return "showDirectoryPicker" in window;
}

/** How deep folders are looked into: a checkpoint lies flat. */
const MOST_DEPTH = 2;

async function inFolder(folder: FileSystemDirectoryEntry, prefix: string, depth = 0): Promise<ChosenFile[]> {
  const files: ChosenFile[] = [];
  for (const entry of await entriesOf(folder)) {
    const name = prefix + entry.name;
    if (entry.isFile) files.push({ name, file: await fileOf(entry as FileSystemFileEntry) });
    else if (depth < MOST_DEPTH) files.push(...(await inFolder(entry as FileSystemDirectoryEntry, `${name}/`, depth + 1)));
  }
  return files;
}

/** A reader gives some entries at a time, none at the end. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    all.push(...some);
  }
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}
