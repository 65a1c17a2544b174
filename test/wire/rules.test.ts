import { describe, expect, test } from 'vitest';
import type * as z from 'zod/mini';
import { lookAtBody } from '../../src/flags/breaches.ts';
import { AlphaCreateBody } from '../../src/gateway/alpha/create.ts';
import { ListAssetsBody, ListGroupsBody } from '../../src/gateway/asset/list.ts';
import {
  BetaO1Body,
  BetaOpenBody,
  BetaTextBody,
  BetaTurboBody,
  betaCreates,
} from '../../src/gateway/beta/create.ts';
import { BetaListBody } from '../../src/gateway/beta/list.ts';
import { issuesOf, oddities, rulesOf } from '../../src/gateway/body.ts';
import { CompletionsBody } from '../../src/gateway/chat/completions.ts';
import { geoBodyFor } from '../../src/gateway/chat/geo.ts';
import { MessagesBody } from '../../src/gateway/chat/messages.ts';
import { GammaCreateBody } from '../../src/gateway/gamma/create.ts';
import { ImageEditBody, ImageGenerateBody } from '../../src/gateway/image/create.ts';
import { wrapLine } from '../../src/io/wrap.ts';
import { document, isQuoted } from '../helpers/document.ts';
import { alphaExamples } from './alpha-examples.ts';
import { assetExamples } from './asset-examples.ts';
import { betaExamples } from './beta-examples.ts';
import { chatExamples } from './chat-examples.ts';
import { gammaExamples } from './gamma-examples.ts';
import { imageEditExamples } from './image-edit-examples.ts';
import { imageExamples } from './image-examples.ts';
import * as examples from './rule-examples.ts';

// Each rule between fields has a literal body that breaks it and no other rule.

/** A body: its schema, examples of its rules by name, and the literal bodies that are judged elsewhere too. */
type Ruled = [
  name: string,
  schema: z.ZodMiniType,
  of: Readonly<Record<string, examples.RuleExample>>,
  literals?: readonly Readonly<{ body: unknown }>[],
];

const betaOf = (schema: z.ZodMiniType) => {
  const paths = betaCreates.filter(({ body }) => body === schema).map(({ path }) => path);
  return betaExamples.filter(({ path }) => paths.includes(path));
};
const chatOf = (api: string) => chatExamples.filter((example) => example.api === api);
const assetOf = (action: string) => assetExamples.filter((example) => example.action === action);

const bodies: Ruled[] = [
  ['alpha', AlphaCreateBody, examples.alphaRuleExamples, alphaExamples],
  ['beta, text', BetaTextBody, examples.betaTextRuleExamples, betaOf(BetaTextBody)],
  ['beta, turbo', BetaTurboBody, examples.betaTurboRuleExamples, betaOf(BetaTurboBody)],
  ['beta, o1', BetaO1Body, examples.betaO1RuleExamples, betaOf(BetaO1Body)],
  ['beta, a body that is not shown', BetaOpenBody, examples.betaOpenRuleExamples],
  ['beta, list', BetaListBody, examples.betaListRuleExamples],
  ['gamma', GammaCreateBody, examples.gammaRuleExamples, gammaExamples],
  ['image, generations', ImageGenerateBody, examples.imageGenerateRuleExamples, imageExamples],
  ['image, edits', ImageEditBody, examples.imageEditRuleExamples, imageEditExamples],
  ['chat completions', CompletionsBody, examples.completionsRuleExamples, chatOf('completions')],
  ['native messages', MessagesBody, examples.messagesRuleExamples, chatOf('messages')],
  ['Gemini-style generation', geoBodyFor('geo-3.7-flash'), examples.geoRuleExamples, chatOf('geo')],
  [
    'Gemini-style generation, no geo model',
    geoBodyFor('other-1'),
    examples.otherModelRuleExamples,
    chatOf('geo'),
  ],
  ['assets, list', ListAssetsBody, examples.assetListRuleExamples, assetOf('ListAssets')],
  ['asset groups, list', ListGroupsBody, examples.assetListRuleExamples, assetOf('ListAssetGroups')],
];

/** Rules that apply to every body of their endpoint, so that no example can keep them. */
const always = ['beta.body-not-shown'];

/** The names of the rules that a body breaks, and of those that only cause a warning. */
const namesIn = (schema: z.ZodMiniType, body: unknown): { broken: unknown[]; odd: string[] } => {
  const found = issuesOf(schema, body);
  const issues = [...found.broken, ...found.unstated];
  const broken = issues.map((issue) => (issue.code === 'custom' ? issue.params?.rule : issue.message));
  const odd = issues.length > 0 ? [] : oddities(schema, found).map(({ rule }) => rule.name);
  return { broken: [...new Set(broken)], odd: odd.filter((name) => !always.includes(name)) };
};

describe.each(bodies)('rules of %s', (_, schema, of, literals = []) => {
  const rules = rulesOf(schema).filter(({ name }) => !always.includes(name));
  const judged = literals.map(({ body }) => ({ body, broken: namesIn(schema, body).broken }));

  test('no example is of a rule that is not there', () => {
    const names = rules.map(({ name }) => name);
    expect(Object.keys(of).filter((name) => !names.includes(name))).toEqual([]);
  });

  test.each(rules)('$name ($verdict)', ({ name, verdict, sentence, remark }) => {
    const example = of[name];
    const literal = judged.find(({ broken }) => broken.length === 1 && broken[0] === name);
    const { broken } = example ?? { broken: literal?.body };
    if (example) {
      const held = namesIn(schema, example.kept);
      expect(held.broken).toEqual([]);
      expect(held.odd).not.toContain(name);
    }
    expect(namesIn(schema, broken)).toEqual(
      verdict === 'refuse' ? { broken: [name], odd: [] } : { broken: [], odd: [name] },
    );
    const { breaches, oddities } = lookAtBody(schema, broken, () => undefined);
    const said = [...breaches, ...oddities].map(({ says }) => says);
    // The printed refusal must fit into three lines on a terminal of 80 columns.
    const [printed] = breaches.map(({ text, says }) => [`error: ${text}`, `hint: ${says}`]);
    expect(printed?.flatMap((line) => wrapLine(line, 80)).length ?? 0).toBeLessThanOrEqual(3);
    const quotations = said.flatMap((says = '') => says.split('the document says: ').slice(1));
    if (document !== undefined)
      expect(quotations.filter((each) => !isQuoted(each.replace(/ …$/, '')))).toEqual([]);
    if (sentence !== undefined) expect(said.join()).toMatch(/the document says: /);
    else if (remark !== undefined) expect(said).toContain(remark);
  });
});

test('no two rules of different bodies share a name without sharing their sentence', () => {
  const sentences = new Map<string, string | undefined>();
  for (const { name, sentence } of bodies.flatMap(([, schema]) => rulesOf(schema))) {
    if (sentences.has(name)) expect(sentences.get(name), name).toBe(sentence);
    sentences.set(name, sentence);
  }
});
