import { type ImageEditBody, ImageEditStrictBody, imageEdit } from '../../gateway/image/edit.ts';
import {
  type ImageGenerateBody,
  ImageGenerateStrictBody,
  imageGenerate,
} from '../../gateway/image/generate.ts';
import { ImageNativeBody, imageNative } from '../../gateway/image/native.ts';
import { respellGeo } from '../chat/spellings.ts';
import { checkBody } from '../request-body.ts';
import type { Route } from '../route.ts';
import { readEditForm } from './edit-form.ts';
import { type InputImage, seeSource, seeUrl } from './inputs.ts';
import { nativeReply } from './native.ts';
import { imageReply } from './reply.ts';
import { orderOf } from './request.ts';

/** Image generation and editing on every variant ("Image endpoints"). */
export const imageRoutes: readonly Route[] = [
  {
    endpoint: imageGenerate,
    body: ImageGenerateStrictBody,
    async answer({ body }, world) {
      const request = body as ImageGenerateBody;
      const isList = Array.isArray(request.image);
      const images: InputImage[] = [];
      for (const [nth, url] of [request.image ?? []].flat().entries()) {
        images.push(await seeUrl(url, isList ? ['image', nth] : ['image']));
      }
      const order = await orderOf(request, images, false, world);
      return imageReply({ action: 'generation', order, images, request }, world);
    },
  },
  {
    endpoint: imageEdit,
    body: ImageEditStrictBody,
    multipart: true,
    async answer({ body, form, ...call }, world) {
      const read = form ? await readEditForm(form, call, world) : await readEditBody(body as ImageEditBody);
      const order = await orderOf(read.request, read.images, read.hasMask, world);
      return imageReply({ action: 'edit', order, ...read }, world);
    },
  },
  {
    endpoint: imageNative,
    body: ImageNativeBody,
    respell: respellGeo,
    answer({ params, body }, world) {
      // The document shows no body, so that gw sends any; only the public shape can be drawn here.
      checkBody({ strict: ImageNativeBody }, body, world);
      return nativeReply(params.model ?? '', body as ImageNativeBody, world);
    },
  },
];

async function readEditBody(request: ImageEditBody) {
  const images: InputImage[] = [];
  for (const [nth, source] of request.images.entries()) {
    images.push(await seeSource(source, ['images', nth]));
  }
  if (request.mask) await seeSource(request.mask, ['mask']);
  return { request, images, hasMask: request.mask !== undefined };
}
