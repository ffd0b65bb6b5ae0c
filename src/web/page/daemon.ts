import { DaemonApi } from '@parley-voice/web';
import type { PageDescription } from '../../transports/talk-protocol.js';
import { home } from '../shared/home.js';

/** The daemon that served the page. */
export class PageDaemon {
  readonly #api = new DaemonApi(home());

  /** The daemon's description. @throws CallError */
  async describe(): Promise<PageDescription> {
    return (await this.#api.json('/page.json')) as PageDescription;
  }

  /** A token for one session. @throws CallError */
  async sessionToken(publicKey: string): Promise<string> {
    return (await this.#api.sessionToken(publicKey)).token;
  }
}
