import { fakeGateway } from './fake-gateway.ts';
import { World } from './gw.ts';

/** A world whose gateway gives these answers; `env` names that gateway. */
export async function fakeWorld(answer: Parameters<typeof fakeGateway>[0]) {
  const world = await World.open();
  const gateway = await fakeGateway(answer);
  return { world, gateway, env: { GW_BASE_URL: gateway.url } };
}
