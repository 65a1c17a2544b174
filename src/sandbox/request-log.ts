/** One request as the sandbox saw it. Headers and output addresses hold credentials: whoever prints must choose. */
export interface SandboxRequest {
  readonly server: 'api' | 'output';
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Unix milliseconds. */
  readonly atMs: number;
  /** The JSON body, once it was read; of a form its fields, and its files by their sizes. */
  body?: unknown;
  /** Missing where no reply was begun. */
  status?: number;
  /** The fault that met this request, as it stands in the SPEC. */
  fault?: string;
  acceptedTaskId?: string;
  /** Fields that the document does not list, which were taken without effect. */
  passedOver?: readonly string[];
  /** What its reply says became of it. */
  verdict?: string;
  /** Why it was refused: the error's code, and the field where one broke a rule. */
  refusal?: string;
}
