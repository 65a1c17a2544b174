import { expect, test } from 'vitest';
import { assetUrlBreach } from '../../src/gateway/asset/url.ts';

test.each([
  ['https://example.com/fox.png'],
  ['http://example.com:8080/a%5Cb.png?user=a@b'],
  ['https://8.8.8.8/a.png'],
  ['https://[2606:4700::1111]/a.png'],
  ['https://[2002:808:808::1]/a.png'],
  ['https://[64:ff9b::808:808]/a.png'],
])('%s may be fetched', (address) => {
  expect(assetUrlBreach(address)).toBeUndefined();
});

test.each([
  ['https://user@example.com/a.png', /user or password/],
  ['https://user:secret@example.com/a.png', /user or password/],
  ['https://@example.com/a.png', /user or password/],
  ['https://example.com\\@10.0.0.1/a.png', /backslash/],
  ['https://example.com/a\\b.png', /backslash/],
  ['https://192.0.2.1/a.png', /not a public host/],
  ['https://198.51.100.7/a.png', /not a public host/],
  ['https://203.0.113.255/a.png', /not a public host/],
  ['https://[2001:db8::1]/a.png', /not a public host/],
  ['https://[3fff:0:1::1]/a.png', /not a public host/],
  ['https://[2002:a00:1::1]/a.png', /not a public host/],
  ['https://[2002:7f00:1::]/a.png', /not a public host/],
  ['https://[64:ff9b::a00:1]/a.png', /not a public host/],
])('%s is no public address', (address, why) => {
  expect(assetUrlBreach(address)).toMatch(why);
});
