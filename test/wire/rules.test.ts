import { describe, expect, test } from 'vitest';
import type * as z from 'zod/mini';
import { lookAtBody } from '../../src/flags/breaches.ts';
import { AlphaCreateBody } from '../../src/gateway/alpha/create.ts';
import { ListAssetsBody, ListGroupsBody } from '../../src/gateway/asset/list.ts';
import { BetaO1Body, BetaOpenBody, BetaTextBody, BetaTurboBody } from '../../src/gateway/beta/create.ts';
import { BetaListBody } from '../../src/gateway/beta/list.ts';
import { issuesOf, oddities, rulesOf } from '../../src/gateway/body.ts';
import { CompletionsBody } from '../../src/gateway/chat/completions.ts';
import { geoBodyFor } from '../../src/gateway/chat/geo.ts';
import { MessagesBody } from '../../src/gateway/chat/messages.ts';
import { GammaCreateBody } from '../../src/gateway/gamma/create.ts';
import { ImageEditBody, ImageGenerateBody } from '../../src/gateway/image/create.ts';
import { wrapLine } from '../../src/io/wrap.ts';
import { document, isQuoted } from '../helpers/document.ts';
import * as examples from './rule-examples.ts';

const bodies: [name: string, schema: z.ZodMiniType, of: Readonly<Record<string, examples.RuleExample>>][] = [
  ['alpha', AlphaCreateBody, examples.alphaRuleExamples],
  ['beta, text', BetaTextBody, examples.betaTextRuleExamples],
  ['beta, turbo', BetaTurboBody, examples.betaTurboRuleExamples],
  ['beta, o1', BetaO1Body, examples.betaO1RuleExamples],
  ['beta, a body that is not shown', BetaOpenBody, examples.betaOpenRuleExamples],
  ['beta, list', BetaListBody, examples.betaListRuleExamples],
  ['gamma', GammaCreateBody, examples.gammaRuleExamples],
  ['image, generations', ImageGenerateBody, examples.imageGenerateRuleExamples],
  ['image, edits', ImageEditBody, examples.imageEditRuleExamples],
  ['chat completions', CompletionsBody, examples.completionsRuleExamples],
  ['native messages', MessagesBody, examples.messagesRuleExamples],
  ['Gemini-style generation', geoBodyFor('geo-3.7-flash'), examples.geoRuleExamples],
  ['Gemini-style generation, no geo model', geoBodyFor('other-1'), examples.otherModelRuleExamples],
  ['assets, list', ListAssetsBody, examples.assetListRuleExamples],
  ['asset groups, list', ListGroupsBody, examples.assetListRuleExamples],
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

describe.each(bodies)('rules of %s', (_, schema, of) => {
  const rules = rulesOf(schema).filter(({ name }) => !always.includes(name));

  test('each has a body that keeps it and one that breaks it, and no body is of a rule that is not there', () => {
    expect(Object.keys(of).toSorted()).toEqual(rules.map(({ name }) => name).toSorted());
  });

  test.each(rules)('$name ($verdict)', ({ name, verdict, sentence, remark }) => {
    const { kept, broken } = of[name] ?? {};
    const held = namesIn(schema, kept);
    expect(held.broken).toEqual([]);
    expect(held.odd).not.toContain(name);
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
