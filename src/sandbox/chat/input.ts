import { refuseField } from '../request-body.ts';
import { type SeenImage, seeImage } from './images.ts';
import { countTokens } from './tokens.ts';

/** Every message costs so many tokens beside its text. */
const MESSAGE_TOKENS = 3;

/** Collects what a request holds while its messages are read in order. */
export class Input {
  readonly #images: Promise<SeenImage>[] = [];
  #messages = 0;
  #tokens = 0;
  /** The last text of a user that is not blank. */
  prompt = '';

  /** Counts a message, or the system prompt where the endpoint has it outside the messages. */
  message(isOne = true): void {
    if (isOne) this.#messages++;
    this.#tokens += MESSAGE_TOKENS;
  }

  text(text: string): void {
    this.#tokens += countTokens(text);
  }

  /** Text of one user message, all its parts together. */
  userText(text: string): void {
    this.text(text);
    if (text.trim() !== '') this.prompt = text;
  }

  /** Counts a value as the JSON it came as; throws Refusal (400) where it is nested deeper than can be written. */
  json(value: unknown): void {
    if (value === undefined) return;
    try {
      this.text(JSON.stringify(value));
    } catch {
      throw refuseField([], 'it is nested too deep');
    }
  }

  /** @param path where the image stands in the body */
  image(url: string, path: readonly PropertyKey[]): void {
    const seen = seeImage(url, path);
    // Looked at in `seen()`; until then a refusal must not count as unhandled.
    seen.catch(() => {});
    this.#images.push(seen);
  }

  /** What was collected; throws Refusal (400) for the first image that is none. */
  async seen(): Promise<{
    readonly messages: number;
    readonly prompt: string;
    readonly images: readonly SeenImage[];
    readonly inputTokens: number;
  }> {
    const images: SeenImage[] = [];
    for (const image of this.#images) images.push(await image);
    const imageTokens = images.reduce((sum, image) => sum + image.tokens, 0);
    return {
      messages: this.#messages,
      prompt: this.prompt,
      images,
      inputTokens: this.#tokens + imageTokens,
    };
  }
}
