/** What a command that creates, waits for or changes something in the library prints (the contract, section 1). */
export interface LibraryResult {
  readonly family: 'asset' | 'asset-group';
  readonly id: string;
  /** The gateway's word; of a group, which has none, and of a change, what was done. */
  readonly status: string;
  /** The gateway's last record or reply as it came. */
  readonly record: unknown;
  /** Nothing in the library is saved as a file. */
  readonly files: readonly never[];
}

export const libraryResult = (
  family: LibraryResult['family'],
  id: string,
  status: string,
  record: unknown,
): LibraryResult => ({ family, id, status, record, files: [] });

/** For people: the ID, where it went well. */
export const idLine = ({ id }: LibraryResult, _ctx: unknown, failed: boolean): string =>
  failed ? '' : `${id}\n`;
