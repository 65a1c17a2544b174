import { randomBytes } from 'node:crypto';
import {
  bodyOfEditForm,
  EDIT_IMAGE_FIELD,
  EDIT_MASK_FIELD,
  ImageEditBody,
  type ImageGenerateBody,
  imageEdit,
  imageGenerate,
} from '../../gateway/image/create.ts';
import { ImageNativeBody, imageNative } from '../../gateway/image/native.ts';
import { field, respellGeo, textField } from '../chat/input.ts';
import { SENSITIVE_PROMPT_WORD } from '../faults.ts';
import { jsonReply, type SandboxReply } from '../reply.ts';
import { checkBody, type FormBody, type FormPart, refuseField } from '../request-body.ts';
import type { Call, Route, World } from '../route.ts';
import { type SeenImage, seeBytes, TILE_TOKENS } from '../seen-image.ts';
import { encode } from './codecs.ts';
import {
  drawOrder,
  familyOf,
  type ImageOrder,
  orderOf,
  pixelsOfAspect,
  SANDBOX_IMAGE_URL_MODEL,
  seeSource,
  seeUrl,
  shownInputs,
} from './order.ts';
import { IMAGE_S, imageReply, linksOf, newImageId, usageOf } from './reply.ts';

/** Image generation and editing on every variant ("Image endpoints"). */
export const imageRoutes: readonly Route[] = [
  {
    endpoint: imageGenerate,
    async answer({ body }, world) {
      const request = body as ImageGenerateBody;
      const isList = Array.isArray(request.image);
      const images: SeenImage[] = [];
      for (const [nth, url] of [request.image ?? []].flat().entries()) {
        images.push(await seeUrl(url, isList ? ['image', nth] : ['image']));
      }
      const order = orderOf(request, images, false);
      return imageReply({ action: 'generation', order, images, request }, world);
    },
  },
  {
    endpoint: imageEdit,
    multipart: true,
    async answer({ body, form, ...call }, world) {
      const read = form ? await readEditForm(form, call, world) : await readEditBody(body as ImageEditBody);
      const order = orderOf(read.request, read.images, read.hasMask);
      return imageReply({ action: 'edit', order, ...read }, world);
    },
  },
  {
    endpoint: imageNative,
    respell: respellGeo,
    answer({ params, body }, world) {
      return nativeReply(params.model ?? '', body, world);
    },
  },
];

async function readEditBody(request: ImageEditBody) {
  const images: SeenImage[] = [];
  for (const [nth, source] of request.images.entries()) {
    images.push(await seeSource(source, ['images', nth]));
  }
  if (request.mask) await seeSource(request.mask, ['mask']);
  return { request, images, hasMask: request.mask !== undefined };
}

/** A placeholder for each file of a form, so that the schema can count them. */
const uploaded = { file_id: 'file-uploaded' };

/** Reads an edit in a form; throws Refusal (400) naming the field that breaks a rule. */
async function readEditForm({ fields, files }: FormBody, { passOver }: Pick<Call, 'passOver'>, world: World) {
  const texts: [string, string][] = [];
  for (const [name, values] of fields) {
    if (name === EDIT_IMAGE_FIELD || name === EDIT_MASK_FIELD) throw refuseField([name], 'not a file');
    const [value, ...others] = values;
    if (others.length > 0) throw refuseField([name], `given ${values.length} times`);
    texts.push([name, value ?? '']);
  }
  // A public client names a single image without the brackets.
  const isImage = (field: string) => field === EDIT_IMAGE_FIELD || (!world.strict && field === 'image');
  for (const { field } of files) {
    if (isImage(field) || field === EDIT_MASK_FIELD) continue;
    throw refuseField(
      [field],
      `no file is taken here; images go into ${EDIT_IMAGE_FIELD}, a mask into ${EDIT_MASK_FIELD}`,
    );
  }
  const images = files.filter(({ field }) => isImage(field));
  const [mask, ...moreMasks] = files.filter(({ field }) => field === EDIT_MASK_FIELD);
  if (images.length === 0) throw refuseField([EDIT_IMAGE_FIELD], 'at least one image to edit is needed');
  if (moreMasks.length > 0) throw refuseField([EDIT_MASK_FIELD], 'one mask at most');
  const request = {
    ...bodyOfEditForm(texts),
    images: images.map(() => uploaded),
    ...(mask && { mask: uploaded }),
  };
  passOver(checkBody(ImageEditBody, request, world).unlisted);
  if (mask) await seeFile(mask, [EDIT_MASK_FIELD]);
  return {
    request: request as unknown as ImageEditBody,
    images: await seeAll(images),
    hasMask: mask !== undefined,
  };
}

async function seeAll(files: readonly FormPart[]): Promise<SeenImage[]> {
  const seen: SeenImage[] = [];
  for (const [nth, file] of files.entries()) seen.push(await seeFile(file, [EDIT_IMAGE_FIELD, nth]));
  return seen;
}

/** As `seeBytes`; if only the beginning of a file is kept, only the size is read, if it is there. */
async function seeFile({ bytes, sizeBytes }: FormPart, path: readonly PropertyKey[]): Promise<SeenImage> {
  if (bytes.length === sizeBytes) return seeBytes(bytes, path);
  const {
    words = `an image of ${sizeBytes} bytes`,
    tokens = TILE_TOKENS,
    size,
  } = await seeBytes(bytes, path).catch((): Partial<SeenImage> => ({}));
  return { words, tokens, ...(size && { size }) };
}

/**
 * The reply of `POST /v1/models/{model}:generateContent`. The document shows neither body nor reply; these are the public
 * ones of that API. Throws Refusal (400).
 */
async function nativeReply(model: string, body: unknown, world: World): Promise<SandboxReply> {
  familyOf(model);
  const { prompt, images } = await readNative(body, world);
  const id = newImageId();
  const inputTokens = images.reduce((sum, { tokens }) => sum + tokens, 0);
  const size = textField(body, 'generationConfig', 'imageConfig', 'imageSize') ?? '1K';
  const ratio = textField(body, 'generationConfig', 'imageConfig', 'aspectRatio') ?? '1:1';
  const order: ImageOrder = {
    model,
    prompt,
    ...pixelsOfAspect(size, ratio),
    format: 'png',
    quality: 'native',
    background: 'opaque',
    compression: 100,
    count: 1,
    hasMask: false,
    inputs: shownInputs(images),
  };
  const isBlocked = prompt.includes(SENSITIVE_PROMPT_WORD);
  const usage = usageOf(order, inputTokens, isBlocked ? 0 : 1, 0);
  const content = { role: 'model', parts: isBlocked ? [] : await partsOf(id, order, world) };
  const reply = {
    candidates: [{ index: 0, content, finishReason: isBlocked ? 'IMAGE_SAFETY' : 'STOP' }],
    usageMetadata: {
      promptTokenCount: usage.input_tokens,
      candidatesTokenCount: usage.output_tokens,
      totalTokenCount: usage.total_tokens,
    },
    modelVersion: model,
    responseId: randomBytes(12).toString('hex'),
  };
  return { ...jsonReply(200, reply), readyAfterMs: (IMAGE_S * 1000) / world.speed, acceptedTaskId: id };
}

async function partsOf(id: string, order: ImageOrder, world: World): Promise<object[]> {
  const said = { text: 'Here is your image.' };
  const mimeType = `image/${order.format}`;
  if (order.model === SANDBOX_IMAGE_URL_MODEL) {
    const [fileUri] = linksOf(id, order, world);
    return [said, { fileData: { mimeType, fileUri } }];
  }
  const bytes = await encode(drawOrder(order, 0), order, world.wasmDir);
  return [said, { inlineData: { mimeType, data: Buffer.from(bytes).toString('base64') } }];
}

/** Reads a native body. The document shows none, so any object is accepted: the public form is read completely, of
 * another form only the first prompt or text. Throws Refusal (400) for faults in the public form, and on a strict
 * sandbox for any other form. */
async function readNative(body: unknown, world: World) {
  if (!world.strict && field(body, 'contents') === undefined)
    return { prompt: promptIn(body) ?? '', images: [] };
  checkBody(ImageNativeBody, body, world);
  return readContents(body as ImageNativeBody);
}

function promptIn(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const found = typeof inner === 'string' && /^(?:prompt|text)$/.test(name) ? inner : promptIn(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The text of all user contents, and all images in them. */
async function readContents({ contents }: ImageNativeBody) {
  const texts: string[] = [];
  const images: SeenImage[] = [];
  for (const [nth, { role, parts }] of contents.entries()) {
    if (role !== undefined && role !== 'user' && role !== 'model') {
      throw refuseField(['contents', nth, 'role'], 'user or model');
    }
    for (const [at, part] of parts.entries()) {
      const path = ['contents', nth, 'parts', at];
      if (part.text !== undefined && role !== 'model') texts.push(part.text);
      if (part.inlineData) {
        const bytes = Buffer.from(part.inlineData.data, 'base64');
        images.push(await seeBytes(bytes, [...path, 'inlineData', 'data']));
      }
      if (part.fileData) {
        const uri = part.fileData.fileUri;
        if (!/^https?:/i.test(uri)) throw refuseField([...path, 'fileData', 'fileUri'], 'not an address');
        images.push(await seeUrl(uri, path));
      }
      const known = part.text ?? part.inlineData ?? part.fileData ?? field(part, 'thoughtSignature');
      if (known === undefined) throw refuseField(path, 'text, inlineData or fileData is needed');
    }
  }
  const prompt = texts.join('\n').trim();
  if (prompt === '') throw refuseField(['contents'], 'a prompt is needed');
  return { prompt, images };
}
