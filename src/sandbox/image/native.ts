import { randomBytes } from 'node:crypto';
import type { ImageNativeBody } from '../../gateway/image/native.ts';
import { field, textField } from '../chat/field.ts';
import { SENSITIVE_PROMPT_WORD } from '../prompt-words.ts';
import { jsonReply, type SandboxReply } from '../reply.ts';
import { refuseField } from '../request-body.ts';
import type { World } from '../world.ts';
import { type InputImage, seeBytes, seeUrl, shownInputs } from './inputs.ts';
import { linksOf, newImageId } from './links.ts';
import { familyOf, SANDBOX_IMAGE_URL_MODEL } from './models.ts';
import { type ImageOrder, Picture } from './order.ts';
import { IMAGE_S } from './reply.ts';
import { pixelsOfAspect } from './size.ts';
import { usageOf } from './usage.ts';

/**
 * The reply of `POST /v1/models/{model}:generateContent`. The document shows neither body nor reply; these are the
 * public ones of that style. Throws Refusal (400).
 */
export async function nativeReply(model: string, body: ImageNativeBody, world: World): Promise<SandboxReply> {
  familyOf(model);
  const { prompt, images } = await readContents(body);
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
    ...(await shownInputs(images, world.wasmDir)),
  };
  const isBlocked = prompt.includes(SENSITIVE_PROMPT_WORD);
  const usage = usageOf(order, inputTokens, isBlocked ? 0 : 1, 0);
  const promptTokens = usage.textTokens + usage.inputImageTokens;
  const content = { role: 'model', parts: isBlocked ? [] : await partsOf(id, order, world) };
  const reply = {
    candidates: [{ index: 0, content, finishReason: isBlocked ? 'IMAGE_SAFETY' : 'STOP' }],
    usageMetadata: {
      promptTokenCount: promptTokens,
      candidatesTokenCount: usage.outputTokens,
      totalTokenCount: promptTokens + usage.outputTokens,
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
  const bytes = await (await Picture.of(order, 0, world.wasmDir)).file();
  return [said, { inlineData: { mimeType, data: Buffer.from(bytes).toString('base64') } }];
}

/** The words of all user contents and every image in them. */
async function readContents({ contents }: ImageNativeBody) {
  const texts: string[] = [];
  const images: InputImage[] = [];
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
        if (!/^https?:/.test(uri)) throw refuseField([...path, 'fileData', 'fileUri'], 'not an address');
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
