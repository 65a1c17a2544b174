import type { Breakage } from './breakage.ts';

/** Breakages in downloading outputs and in naming their files. */
export const download: readonly Breakage[] = [
  {
    costs: 'a saved file that was damaged at the same length counts as saved for ever',
    find: 'return hasSize(file) && (await sha256OfFile(file.path, signal)) === file.sha256;',
    replace: 'return hasSize(file);',
  },
  {
    costs: 'a file that was cut counts as saved in a batch',
    find: 'return stats?.isFile() === true && stats.size === bytes;',
    replace: 'return stats?.isFile() === true;',
  },
  {
    costs: 'the downloads of earlier runs are forgotten, and the hundred run out unseen',
    find: 'this.counted = options.journal.downloadsSoFar;',
    replace: 'this.counted = 0;',
  },
  {
    costs: 'a download is counted only after it was sent',
    find: 'journal.aboutToGet(role); this.left--;',
    replace: 'this.left--;',
  },
  {
    costs: 'the last downloads are spent without being asked for',
    find: 'this.counted >= maxDownloads * REFUSE_AT && !force',
    replace: 'this.counted > maxDownloads && !force',
  },
  {
    costs: 'the user is not told that few downloads are left',
    find: 'this.counted >= maxDownloads * WARN_AT && !this.warned',
    replace: 'this.counted >= maxDownloads && !this.warned',
  },
  {
    costs: 'a run may ask as often as it likes',
    find: 'return this.left > this.later;',
    replace: 'return true;',
  },
  {
    costs: 'an image that the server cut is saved, where it announced no length',
    find: 'if (broken) this.drop(broken); else sink.setTotal(part.bytes);',
    replace: 'sink.setTotal(part.bytes);',
  },
  {
    costs: 'an image that came with all that was announced may be cut, and nobody is told',
    find: 'const missing = missingEnd(fileType.format, part);',
    replace: 'const missing: string | undefined = undefined;',
  },
  {
    costs: 'a file is begun that does not fit on the disk',
    find: 'bytes === undefined || free === undefined || bytes <= free',
    replace: 'bytes === undefined || free === undefined || bytes > 0',
  },
  {
    costs: 'a download goes on though its rest does not fit',
    find: 'this.needSpace(verdict.totalBytes - (this.part?.bytes ?? 0))',
    replace: 'undefined',
  },
  {
    costs: 'a part that another user laid there is gone on with',
    find: 'isOwnFile(stats) && (isComplete',
    replace: 'stats.isFile() && (isComplete',
  },
  {
    costs: 'a file of the user of equal length is taken for the output, and removed where it is none',
    find: 'size === totalBytes && (await digestOf(left.fd, size, signal)) === sha256',
    replace: 'size === totalBytes',
  },
  {
    costs: 'a part with a second name is written to',
    find: 'etag !== undefined && stats.nlink === 1 &&',
    replace: 'etag !== undefined &&',
  },
  {
    costs: 'a part longer than the file is gone on with',
    find: '&& stats.size <= (totalBytes ?? stats.size)',
  },
  {
    costs: 'bytes that a crash of the system lost are taken for the file',
    find: '(isTold && recorded.startedAtMs > where.bootedAtMs)',
    replace: 'true',
  },
  {
    costs: 'a part is followed through a symbolic link',
    find: 'access | O_NOFOLLOW | O_NONBLOCK',
    replace: 'access | O_NONBLOCK',
  },
  {
    costs: 'bytes beyond the announced length become part of the file',
    find: 'part.totalBytes !== undefined && part.bytes + chunk.length > part.totalBytes',
    replace: 'part.totalBytes !== undefined && part.bytes > part.totalBytes',
  },
  {
    costs: 'two versions of a file are spliced into one',
    find: 'strongEtag(headers.etag) !== etag',
    replace: 'false',
  },
  {
    costs: 'a weak tag, which promises no bytes, is resumed on',
    find: '/^"[\\x21\\x23-\\x7e]{1,512}"$/.test(value.trim())',
    replace: '/^(W\\/)?"[\\x21\\x23-\\x7e]{1,512}"$/.test(value.trim())',
  },
  {
    costs: 'a part of the file from another place is appended',
    find: 'asked.offset === 0 || start !== asked.offset ||',
    replace: 'asked.offset === 0 ||',
  },
  {
    costs: 'a page that says no is saved as the video',
    find: "if (text) return { do: 'renew', reason: `the server sent ${text} instead of the file`, status };",
  },
  {
    costs: 'a file of the user is replaced unasked',
    find: 'force ? this.replace(final) : this.takeFree(final)',
    replace: 'this.replace(final)',
  },
  {
    costs: 'a file whose fsync failed is given its name',
    find: 'throw DiskFault.of(`${part.path} could not be brought safely to disk`, error, false);',
  },
  {
    costs: 'the new name is not durable',
    find: 'await syncDirectory(options.dir);',
  },
  {
    costs: 'a kill between the name and its record leaves a second copy',
    find: 'if (isThere(to)) return isSameFile(from, to);',
    replace: 'if (isThere(to)) return false;',
  },
  {
    costs: 'a symbolic link of the user is replaced by --force',
    find: 'if (there && !there.isFile()) throw new DiskFault(',
    replace: 'if (there?.isDirectory()) throw new DiskFault(',
  },
  {
    costs: 'a cut video passes as whole',
    find: 'if (offset + box.bytes > fileBytes) return',
    replace: 'if (offset > fileBytes) return',
  },
  {
    costs: 'a link from https is followed to http',
    find: "if (from.protocol === 'https:' && url.protocol === 'http:')",
    replace: "if (from.protocol === 'file:')",
  },
  {
    costs: 'a link is followed for ever',
    find: 'if (hops === MAX_REDIRECTS)',
    replace: 'if (hops === 50)',
  },
];
