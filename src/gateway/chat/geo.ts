import * as z from 'zod/mini';
import { addRules, base64Text, type ObjectMaker, type Rule, valueAt, withRules } from '../body.ts';
import { filled, filledText, outputLimit, unstated } from '../checks.ts';
import { type Endpoint, replyThat } from '../endpoint.ts';
import { isObject } from '../json-value.ts';
import { open } from '../open.ts';
import { geoModel, isGeoModel } from './models.ts';
import { thinkingRules } from './thinking.ts';

// `POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent` ("Gemini-style generation", "Gemini-style
// response"). The model is part of the path. The document shows only text parts; the other parts follow the public
// Gemini-style API.

/** A part must have one of these fields. */
const partKinds = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'] as const;

/** The request body: loose (fields of `--set` pass) or strict (the sandbox refuses what is not documented). */
function geoBody(object: ObjectMaker) {
  // A field that the document names without its type, or does not show.
  const named = <S extends z.ZodMiniType>(known: S) => z.optional(open(object, known));
  const name = z.string().check(z.minLength(1));
  const id = z.optional(z.string());
  const part = object({
    text: named(z.string()),
    thought: named(z.boolean()),
    thoughtSignature: named(z.string()),
    inlineData: named(object({ mimeType: name, data: base64Text() })),
    fileData: named(object({ mimeType: z.optional(z.string()), fileUri: name })),
    functionCall: named(object({ id, name, args: z.optional(z.looseObject({})) })),
    functionResponse: named(object({ id, name, response: z.looseObject({}) })),
  });
  const parts = z.array(part).check(filled('a content needs at least one part'));
  const content = object({ role: named(z.string()), parts });
  return object({
    contents: z.array(content).check(filled('a conversation has at least one content')),
    systemInstruction: z.optional(content),
    generationConfig: z.optional(
      object({
        maxOutputTokens: named(z.number().check(outputLimit)),
        temperature: named(z.number()),
        topP: named(z.number()),
        topK: named(z.number()),
        stopSequences: named(z.array(filledText())),
        candidateCount: named(z.int().check(unstated((count) => count >= 1, 'at least 1'))),
        responseMimeType: named(z.string()),
        responseSchema: named(z.looseObject({})),
        thinkingConfig: named(
          object({
            thinkingLevel: named(z.string()),
            thinkingBudget: named(z.int()),
            includeThoughts: named(z.boolean()),
          }),
        ),
      }),
    ),
    tools: named(z.array(z.looseObject({}))),
    toolConfig: named(z.looseObject({})),
    safetySettings: named(z.array(z.looseObject({}))),
  });
}

export type GeoBody = z.infer<ReturnType<typeof geoBody>>;

/** The rules that do not depend on the model. */
const geoRules: readonly Rule<GeoBody>[] = [
  {
    name: 'geo.limit-by-its-name',
    verdict: 'refuse',
    sentence: 'The output limit is generationConfig.maxOutputTokens (not max_tokens)',
    *check(body) {
      for (const path of [['max_tokens'], ['generationConfig', 'max_tokens']]) {
        if (valueAt(body, path) === undefined) continue;
        const message = 'the output limit is called generationConfig.maxOutputTokens here (--max-tokens)';
        yield { path, message };
      }
    },
  },
  {
    name: 'geo.one-kind-of-part',
    verdict: 'warn',
    remark:
      'the document shows parts with text; what a part of two kinds or of none is taken for is not stated',
    *check({ contents }) {
      for (const [index, { parts }] of contents.entries()) {
        for (const [at, each] of parts.entries()) {
          if (partKinds.filter((kind) => kind in each).length === 1) continue;
          const message = `a part holds exactly one of ${partKinds.join(', ')}`;
          yield { path: ['contents', index, 'parts', at], message };
        }
      }
    },
  },
];

/** The body of a Gemini-style request. */
export const GeoBody = withRules(geoBody, geoRules);

const thinkingPath = ['generationConfig', 'thinkingConfig'] as const;

/** The rules that depend on the model, which is in the request's path and not in its body. */
export function geoModelRules(model: string): readonly Rule<GeoBody>[] {
  const [level, others] = thinkingRules<GeoBody>('geo', [...thinkingPath, 'thinkingLevel'], () => model);
  return isGeoModel(model) ? [level, budgetOf(model)] : [others];
}

const budgetOf = (model: string): Rule<GeoBody> => ({
  name: 'geo.no-budget-is-unreliable',
  verdict: 'warn',
  sentence: 'on geo-3.7-flash it is not reliable (thinking tokens may still occur)',
  *check({ generationConfig: config }) {
    if (config?.thinkingConfig?.thinkingBudget !== 0 || geoModel(model)?.budgetZero !== 'unreliable') return;
    const message = `a thinking budget of 0 is not reliable on ${model}: it may think all the same`;
    yield { path: [...thinkingPath, 'thinkingBudget'], message };
  },
});

export const geoBodyFor = (model: string) => addRules(GeoBody, geoModelRules(model));

/** True if a complete reply can be read; each field is checked again where it is used. */
const isReply = (reply: unknown): boolean =>
  isObject(reply) && (reply.candidates === undefined || Array.isArray(reply.candidates));

/** One reply or error, or a list of the events that a stream would send. */
const reply = replyThat((reply) => [reply].flat().length > 0 && [reply].flat().every(isReply));
const row = { method: 'POST', credential: 'geo', resend: 'chat', body: GeoBody, reply } as const;

export const geoGenerate: Endpoint = {
  ...row,
  name: 'chat.geo',
  path: '/v1beta/models/{model}:generateContent',
};

export const geoStream: Endpoint = {
  ...row,
  name: 'chat.geo.stream',
  path: '/v1beta/models/{model}:streamGenerateContent',
};
