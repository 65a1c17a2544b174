import { randomBytes } from 'node:crypto';

/** A text field of a form. */
export interface MultipartText {
  readonly name: string;
  readonly value: string;
}

/** A file of a form, read from disk while it is sent. */
export interface MultipartFile {
  readonly name: string;
  readonly file: {
    /** Absolute. */
    readonly path: string;
    /** What the gateway is told it is called: no directories. */
    readonly name: string;
    /** Its MIME type. */
    readonly type: string;
    /** The length that it had when it was looked at; another length is not sent. */
    readonly bytes: number;
  };
}

export type MultipartField = MultipartText | MultipartFile;

/** A form with files (RFC 7578): its fields in the order in which they are sent. */
export interface MultipartBody {
  /** Stands between the fields; 128 random bits, so that no file holds it. */
  readonly boundary: string;
  readonly fields: readonly MultipartField[];
}

/** A form of these fields. */
export const multipartBody = (fields: readonly MultipartField[]): MultipartBody => ({
  boundary: `gw-${randomBytes(16).toString('hex')}`,
  fields,
});
