// The part of undici that the transport uses, without undici's index, which costs some 40 ms at start. The bundler puts
// this file in place of 'undici'. The paths are relative because the alias would catch 'undici/lib/…' too.
// @ts-expect-error -- undici publishes types for its index only
import Client from '../../node_modules/undici/lib/dispatcher/client.js';

export { Client };
