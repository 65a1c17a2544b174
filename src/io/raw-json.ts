/** JSON text that is written as it stands, where its value would be written in another way (integers beyond 2^53). */
export class RawJson {
  constructor(readonly text: string) {}
}
