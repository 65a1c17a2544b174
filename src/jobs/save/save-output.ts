import * as fs from 'node:fs';
import * as path from 'node:path';
import { DiskFault, faultReason } from '../../disk/disk-fault.ts';
import { headOf } from '../../disk/small-file.ts';
import { GwError } from '../../errors.ts';
import type { TaskOutput } from '../../gateway/task.ts';
import type { SavedFile } from '../../ledger/event.ts';
import { type FileType, SNIFF_BYTES, sniff } from '../../media/signatures.ts';
import { OutputFetch } from './fetch-output.ts';
import type { GetBudget } from './get-output.ts';
import { besideOf, type Naming, type OutputPath } from './output-path.ts';
import { dropPart, type PartFile, type RecordedPart } from './part-file.ts';
import { PartSink } from './part-sink.ts';
import { addBeside, type NamedPart, type Source, wholePart } from './publish.ts';
import { type Placed, partHome, publishOrRescue, rescuedError } from './rescue.ts';
import type { SaveInput } from './save-outputs.ts';
import { isWhole } from './saved.ts';
import { PartGone } from './take-name.ts';
import { takeUpPart } from './take-up-part.ts';
import { missingEnd } from './verify-part.ts';

/** Time limit of connecting, which tells a slow network from a dead one. */
const CONNECT_MS = 10_000;
/** How often a part that other processes keep removing is begun again. */
const MAX_ROUNDS = 3;

interface SaveShared {
  readonly budget: GetBudget;
  readonly bootedAtMs: number;
  readonly warn: (text: string) => void;
}

/** The result of an output; `error`, of kind `download`, if it is not fully as requested. */
interface SavedOutput {
  readonly file: SavedFile;
  readonly error?: GwError;
}

/** Takes one output from its link to its final name. */
export class SaveOutput {
  private sink: PartSink | undefined;
  private recorded: RecordedPart | undefined;

  constructor(
    private readonly output: TaskOutput,
    private readonly place: OutputPath,
    private readonly input: SaveInput,
    private readonly shared: SaveShared,
  ) {
    this.recorded = input.journal.parts[output.role];
  }

  /** Throws the raw failure: GwError, DiskFault, or the signal's reason. */
  async run(): Promise<SavedOutput> {
    const { input, output } = this;
    const there = await this.savedBefore();
    if (there) return there;
    const sink = this.openSink();
    this.sink = sink;
    sink.part = await this.earlierPart();
    const fetch = new OutputFetch(output, sink, {
      ...input,
      connectMs: CONNECT_MS,
      budget: this.shared.budget,
      refreshLink: () => input.refreshLink(output.role),
      note: (text) => input.note?.(`the ${output.role} of ${jobWord(input.names)}: ${text}`),
    });
    for (let round = 1; ; round++) {
      try {
        const { part, fileType } = await fetch.run();
        return await this.publish(sink, part, fileType);
      } catch (error) {
        const isGone = error instanceof PartGone;
        // If a disk loses every part, it would lose the next one too, so this counts as a disk fault.
        const fault = isGone && round === MAX_ROUNDS ? new DiskFault(error.message, false) : error;
        if (fault instanceof DiskFault && sink.beginElsewhere(fault)) continue;
        if (!isGone || round >= MAX_ROUNDS) throw error;
        sink.discard();
      }
    }
  }

  private openSink(): PartSink {
    const { input, output, place } = this;
    const { role, type } = output;
    const { names, journal, refuge, freeBytes, mostBytes, onProgress } = input;
    const name = role === type ? names.id : `${names.id} ${role}`;
    const onBytes = (bytes: number, totalBytes: number | undefined) =>
      onProgress?.({ role, name, bytes, totalBytes });
    const home = partHome(place.dir, refuge);
    return new PartSink({ home, refuge, role, type, journal, freeBytes, mostBytes, onBytes });
  }

  /** True if a later process can continue the part. */
  get isResumable(): boolean {
    return this.sink?.part?.isResumable ?? this.recorded !== undefined;
  }

  /** Ends the work on this output; returns whether a part file stays. */
  abandon(keep: boolean): boolean {
    const part = this.sink?.part;
    try {
      if (part && keep) part.close();
      else if (part) this.sink?.discard(this.shared.warn);
      else if (!keep) this.dropRecorded();
    } catch (error) {
      this.shared.warn(`a part file could not be removed: ${faultReason(error)}`);
    }
    return keep && (part !== undefined || this.recorded !== undefined);
  }

  /** The output as an earlier run saved it: kept if it is at its target, else copied there; nothing is downloaded. */
  private async savedBefore(): Promise<SavedOutput | undefined> {
    const { journal, signal } = this.input;
    let other: SavedFile | undefined;
    const copies = journal.files.filter(({ role }) => role === this.output.role);
    for (const saved of copies) {
      if (saved.cut || !(await isWhole(saved, signal))) continue;
      if (!saved.rescued && (await this.isAtTarget(saved.path))) {
        this.dropRecorded();
        if (copies.some(({ rescued }) => rescued)) this.recordHome(saved);
        await addBeside(saved.path, this.input.sidecar?.(saved.sha256), this.shared.warn);
        return { file: saved };
      }
      other ??= saved;
    }
    if (!other) return undefined;
    this.dropRecorded();
    return this.copy(other, extensionOf(other.path));
  }

  /**
   * True if a saved file is at the output's target: its name, or that name with `-1`, `-2`, …. With --force only the
   * first allowed name counts.
   */
  private async isAtTarget(file: string): Promise<boolean> {
    const { place, input } = this;
    if (path.dirname(file) !== path.resolve(place.dir)) return false;
    const extension = extensionOf(file);
    const name = path.basename(file);
    const copies = [0, ...[...name.matchAll(/-(\d{1,4})(?=\.|$)/g)].map((found) => Number(found[1]))];
    const copy = copies.find((each) => place.name(extension, each) === name);
    if (copy === undefined || !input.plan.force) return copy !== undefined;
    for (let before = 0; before < copy; before += 1) {
      if (await this.mayReplace(path.join(place.dir, place.name(extension, before)))) return false;
    }
    return this.mayReplace(file, { isAt: true });
  }

  private mayReplace(final: string, how?: { isAt?: boolean; tell?: () => void }): Promise<boolean> {
    const { claims, names, key = names.id } = this.input;
    return claims.mayTake(path.resolve(final), key, this.output.role, how);
  }

  /** Copies a saved file to its target; a rescued one is moved. */
  private async copy(saved: SavedFile, extension: string): Promise<SavedOutput> {
    const { journal } = this.input;
    const { role } = this.output;
    let placed: Placed;
    try {
      placed = await publishOrRescue(saved, this.publishing(extension, saved), undefined);
    } catch (error) {
      if (!(error instanceof DiskFault) || !saved.rescued) throw error;
      return { file: saved, error: this.rescuedError(saved.path, error) };
    }
    const { bytes, sha256, type } = saved;
    const file = { role, path: placed.path, bytes, sha256, type };
    this.recordHome(file);
    journal.part(role, undefined);
    return { file };
  }

  /** Records a file in its intended place, and removes the rescued copies of its output. */
  private recordHome(file: SavedFile): void {
    this.record(file);
    for (const { path: old, role, rescued } of this.input.journal.files)
      if (rescued && role === file.role)
        for (const each of [old, besideOf(old)]) fs.rmSync(each, { force: true });
  }

  /** Opens the part of an earlier process; a useless one is removed. */
  private async earlierPart(): Promise<PartFile | undefined> {
    if (!this.recorded) return undefined;
    const { clock, signal, refuge } = this.input;
    const { bootedAtMs } = this.shared;
    const dirs = [this.place.dir, refuge];
    let part: PartFile | undefined;
    try {
      part = await takeUpPart(this.recorded, { dirs, bootedAtMs, nowMs: clock.now(), signal });
    } catch (error) {
      if (!(error instanceof DiskFault)) throw error;
      // A part that cannot be read is downloaded again.
    }
    if (part) this.recorded = undefined;
    else this.dropRecorded();
    return part;
  }

  private dropRecorded(): void {
    const { recorded } = this;
    this.recorded = undefined;
    if (recorded && dropPart(recorded.path, this.shared.warn))
      this.input.journal.part(this.output.role, undefined);
  }

  /**
   * True if a process that could not write to the ledger saved this file for this job: it is newer than the job, has
   * these bytes, and belongs to no other job. The source was changed just now, so it shows the file server's clock.
   */
  private async isUnrecorded(final: string, { path: source, sha256 }: Source): Promise<boolean> {
    const { names, journal, signal, clock } = this.input;
    const there = fs.lstatSync(final, { throwIfNoEntry: false });
    if (!there?.isFile() || !journal.isRecorded) return false;
    const agoMs = (fs.lstatSync(source, { throwIfNoEntry: false }) ?? there).ctimeMs - there.mtimeMs;
    if (agoMs > clock.now() - names.atMs) return false;
    const file = { role: this.output.role, path: path.resolve(final), bytes: there.size, sha256, type: '' };
    return (await isWhole(file, signal)) && !(await journal.isRecorded(file.path));
  }

  private publishing(extension: string, whole: Source) {
    const { place, input, output } = this;
    return {
      dir: place.dir,
      name: (copy: number) => place.name(extension, copy),
      extension,
      force: input.plan.force,
      isOurs: (final: string) => this.isUnrecorded(final, whole),
      mayReplace: (final: string, tell: () => void) => this.mayReplace(final, { tell }),
      sidecar: input.sidecar?.(whole.sha256),
      warn: this.shared.warn,
      onName: (part: NamedPart) => input.journal.part(output.role, part),
      mode: 0o666 & ~process.umask(),
      signal: input.signal,
    };
  }

  /** Gives a complete part its final name and records it; only then its own name is removed. */
  private async publish(sink: PartSink, part: PartFile, fileType: FileType): Promise<SavedOutput> {
    const { input, output } = this;
    const { role } = output;
    const missing = missingEnd(fileType.format, part);
    const whole = wholePart(part);
    const how = this.publishing(fileType.extension, whole);
    const before = input.journal.files.find((file) => file.role === role && file.sha256 === whole.sha256);
    if (missing !== undefined && before && (await isWhole(before, input.signal))) {
      sink.discard();
      return { file: before, error: this.cutError(before.path, missing) };
    }
    const { path: final, rescuedFrom } = await publishOrRescue(whole, how, input.refuge, sink.fault);
    const file: SavedFile = {
      role,
      path: final,
      bytes: whole.bytes,
      sha256: whole.sha256,
      type: fileType.mime,
      ...(rescuedFrom && { rescued: true }),
      ...(missing !== undefined && { cut: true }),
    };
    this.record(file);
    sink.discard(this.shared.warn);
    if (missing !== undefined) return { file, error: this.cutError(final, missing) };
    return rescuedFrom ? { file, error: this.rescuedError(final, rescuedFrom) } : { file };
  }

  private cutError(file: string, missing: string): GwError {
    const { names } = this.input;
    const what = `the ${this.output.role} of ${jobWord(names)} came with all bytes that were announced, and may be cut: ${missing}`;
    const hint = `what came is kept as ${file}; gw jobs sync asks for it again while its link lives`;
    return new GwError('download', what, { taskId: names.id, hint });
  }

  private rescuedError(file: string, fault: DiskFault): GwError {
    const { names } = this.input;
    return rescuedError(`the ${this.output.role} of ${jobWord(names)}`, names.id, file, fault);
  }

  private record(file: SavedFile): void {
    try {
      this.input.journal.saved(file);
    } catch (error) {
      const what = `${file.path} is whole, but that could not be recorded: ${faultReason(error)}`;
      const hint = 'when the ledger can be written again, gw jobs sync records it';
      throw new GwError('download', what, { hint });
    }
  }
}

/** The name of a job in a sentence. */
export const jobWord = ({ id, family }: Pick<Naming, 'id' | 'family'>): string =>
  `${family === 'image' ? 'image job' : 'task'} ${id}`;

const extensionOf = (file: string): string => sniff(headOf(file, SNIFF_BYTES))?.extension ?? '';
