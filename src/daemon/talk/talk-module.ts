import type { AgentRegistry } from '../agents/agents.js';
import type { CallLog } from '../call-log/call-log.js';
import type { RegisteredCalls } from '../calls/registered-calls.js';
import type { DaemonContext } from '../context.js';
import type { BrowserFiles } from '../http/browser-files.js';
import type { HttpModule } from '../http/http-module.js';
import type { Media } from '../media.js';
import type { DaemonModule } from '../module.js';
import { ChatEndpoint, chatRoutes } from './chat.js';
import { pageRoutes, widgetRoutes } from './page-routes.js';
import { sessionTokenRoutes } from './session-token-routes.js';
import { TalkEndpoint } from './talk-routes.js';
import { WebSessions } from './web-sessions.js';
import { peerSettings, WebRtcCalls } from './webrtc-calls.js';
import { webRtcRoutes } from './webrtc-routes.js';

export interface TalkModuleOptions {
  http: HttpModule;
  agents: AgentRegistry;
  log: CallLog;
  registered: RegisteredCalls;
  media: Media;
  files: BrowserFiles;
}

/** Pages and the widget, and their conversations: over the talk socket, WebRTC and chat. */
export function talkModule(context: DaemonContext, options: TalkModuleOptions): DaemonModule {
  const { settings, engine, clock, nowUnixMs, faults, events, admission } = context;
  const { http, agents, log, registered, media, files } = options;
  const { access, clients, requests, tokens, upgrades } = http;
  const onError = faults.report;
  const chats = new ChatEndpoint({
    engine,
    agents,
    log,
    admission,
    clock,
    nowUnixMs,
    onError,
    maxChats: settings.limits.sessions,
  });
  const webSessions = new WebSessions({
    engine,
    agents,
    access,
    log,
    registered,
    admission,
    events,
    publicAgentConfigFields: settings.publicAgentConfigFields,
  });
  const webRtc = new WebRtcCalls({
    webSessions,
    access,
    clock,
    onError,
    peers: peerSettings(settings),
    mediaHost: media,
  });
  const socket = new TalkEndpoint({
    upgrades,
    webSessions,
    access,
    clients,
    requests,
    clock,
    admission,
    onError,
    socketsPerAddress: settings.limits.socketsPerAddress,
    leadMs: settings.talkLeadMs,
  });
  return {
    name: 'talk',
    routes: (api) => {
      sessionTokenRoutes(api, { access, tokens, admission, iceServers: settings.webrtc.iceServers });
      widgetRoutes(http.app, files, { access, regions: settings.regions });
      if (settings.page) {
        pageRoutes(http.app, files, () => ({
          public_key: http.pageKey,
          agents: agents.active().map((agent) => ({
            id: agent.id,
            name: agent.name,
            warnings: agents.modelWarnings(agent).map(({ msg }) => msg),
          })),
          ready: admission.isWarm,
        }));
      }
      chatRoutes(api, chats);
      webRtcRoutes(api, { webSessions, access, calls: webRtc, admission });
    },
    resume: () => {
      if (media.isLocal) webRtc.warmUp();
    },
    stop: () => socket.close(),
    close: () => webRtc.close(),
  };
}
