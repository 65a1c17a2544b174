// A loopback server of recorded completions in its own process. It prints its address, then answers every request with the
// stream that the model's name selects. All streams are made in advance.
import { createServer } from 'node:http';

const chunkOf = (content) =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'bench',
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
  })}\n\n`;
const end =
  'data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1,"model":"bench","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

function stream(count, content) {
  const one = chunkOf(content);
  const perPiece = Math.max(1, Math.floor(65_536 / one.length));
  const piece = Buffer.from(one.repeat(perPiece));
  const pieces = [];
  for (let left = count; left > 0; left -= perPiece)
    pieces.push(left >= perPiece ? piece : Buffer.from(one.repeat(left)));
  return [...pieces, Buffer.from(end)];
}

const line = `${'a line of an answer that a model might write, '.repeat(20)}\n`;
const streams = {
  // This stream has 50 MB.
  large: stream(Math.floor(50_000_000 / chunkOf(line).length), line),
  small: stream(20_000, 'word '),
  many: stream(400_000, 'word '),
  first: stream(1, 'word '),
};

const server = createServer((request, reply) => {
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    // gw also asks for a list of models.
    if (request.method === 'GET') return reply.end('{}');
    const pieces = streams[JSON.parse(body).model] ?? streams.first;
    reply.writeHead(200, { 'content-type': 'text/event-stream' });
    let at = 0;
    const more = () => {
      while (at < pieces.length) if (!reply.write(pieces[at++])) return reply.once('drain', more);
      reply.end();
    };
    more();
  });
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
