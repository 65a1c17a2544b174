import { type GwError, usage } from '../errors.ts';
import { alphaModelId } from '../gateway/alpha/models.ts';
import { isObject } from '../host.ts';
import { readObject } from '../media/read-data.ts';

// The user's price file (setting `prices`): what models cost, for estimates and limits of money.

/** The price of a model: for a video per second or token, for an image per image or token. */
interface Price {
  /** One price, or one for each resolution in lower case. */
  readonly perSecond?: number | Readonly<Record<string, number>>;
  readonly perImage?: number;
  readonly perMillionTokens?: number;
  readonly currency: string;
}

/** Prices by model ID. */
export type Prices = ReadonlyMap<string, Price>;

const fields = ['per_second', 'per_image', 'per_million_tokens', 'currency'];
const HINT = 'write each model as img-2: {per_image: 0.2, currency: CNY}';

/** Reads a price file, JSON or YAML by extension. Throws `usage` with the file, the position and the rule. */
export async function readPriceFile(file: string): Promise<Prices> {
  const named = `the price file ${file}`;
  if (!/\.(json|ya?ml)$/i.test(file)) throw usage(`${named}: its name ends in .json, .yaml or .yml`);
  const value = await readObject(file, named, HINT);
  if (value === undefined) throw usage(`${named}: holds no models`, HINT);
  const prices = new Map<string, Price>();
  for (const [name, said] of Object.entries(value)) {
    const id = alphaModelId(name);
    if (prices.has(id)) throw usage(`${named}: ${name}: ${id} is priced twice`, 'leave one of them out');
    const fault: Fault = (at, rule) => usage(`${named}: ${[name, ...at].join('.')}: ${rule}`, HINT);
    prices.set(id, priceOf(said, fault));
  }
  return prices;
}

type Fault = (at: readonly string[], rule: string) => GwError;

function priceOf(said: unknown, fault: Fault): Price {
  if (!isObject(said)) throw fault([], 'a model has an object of prices');
  const unknown = Object.keys(said).find((field) => !fields.includes(field));
  if (unknown !== undefined) throw fault([unknown], `give one of ${fields.join(', ')}`);
  const { currency, per_second: perSecond, per_image: perImage, per_million_tokens: perMillionTokens } = said;
  if (typeof currency !== 'string' || !/^[A-Z]{3}$/.test(currency))
    throw fault(['currency'], 'three capital letters, such as CNY, are needed');
  const figure = (value: unknown, ...at: string[]): number => {
    if (typeof value === 'number' && value >= 0 && value <= 1e9) return value;
    throw fault(at, 'give a number from 0 on');
  };
  const perSecondOf = () => {
    if (!isObject(perSecond)) return figure(perSecond, 'per_second');
    const rates = Object.entries(perSecond).map(([resolution, rate]): [string, number] => [
      resolution.toLowerCase(),
      figure(rate, 'per_second', resolution),
    ]);
    if (rates.length > 0) return Object.fromEntries(rates);
    throw fault(['per_second'], 'a price, or one for each resolution, is needed');
  };
  const price: Price = {
    currency,
    ...(perSecond !== undefined && { perSecond: perSecondOf() }),
    ...(perImage !== undefined && { perImage: figure(perImage, 'per_image') }),
    ...(perMillionTokens !== undefined && {
      perMillionTokens: figure(perMillionTokens, 'per_million_tokens'),
    }),
  };
  if (Object.keys(price).length > 1) return price;
  throw fault([], `one of ${fields.slice(0, -1).join(', ')} is needed`);
}
