import type { CallEvents, CallLevels, connect, ConnectOptions, TranscriptEntry } from '@parley-voice/web';
import { connect as connectCall } from '@parley-voice/web';
import {
  createContext,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { type CallInReact, CallStore, type ChosenDevices } from './call-store.js';

/** Options of `connect` for the provider's calls. A change of them is for the next call. */
export interface ParleyProviderProps extends ConnectOptions {
  children?: ReactNode;
  /** Default: `connect` of `@parley-voice/web`. Also its `connectSocket`, or a function that does more, such as ask first. */
  connect?: typeof connect | undefined;
}

const Context = createContext<CallStore | null>(null);

/** On a server no effect runs, and React 18 complains of layout effects. */
const useCommit = typeof document === 'undefined' ? useEffect : useLayoutEffect;

/** One call, for the hooks and components inside. It ends when the provider leaves the tree. */
export function ParleyProvider({ children, connect = connectCall, ...options }: ParleyProviderProps): ReactElement {
  const [store] = useState(() => new CallStore());
  useCommit(() => {
    store.options = options;
    store.connect = connect;
  });
  useCommit(store.mount, [store]);
  return <Context.Provider value={store}>{children}</Context.Provider>;
}

/** The call: its state, and what can be done with it. Renders again when one of its members changes. */
export function useCall(): CallInReact {
  const store = useStore();
  return useSyncExternalStore(store.watch, store.call, store.call);
}

/** What was said, in order. It stays after the call, until the next one begins. */
export function useTranscript(): readonly TranscriptEntry[] {
  const store = useStore();
  return useSyncExternalStore(store.watch, store.transcript, store.transcript);
}

/**
 * Levels of both sides, for animations: `current` measures when it is read, and nothing renders again. The event `level`
 * tells them 30 times a second.
 */
export function useLevels(): { readonly current: CallLevels } {
  return useStore().levels;
}

/** Microphones and loudspeakers, which browsers name once the user has allowed a microphone. */
export function useDevices(): ChosenDevices {
  const store = useStore();
  useEffect(store.watchDevices, [store]);
  return useSyncExternalStore(store.watch, store.devices, store.devices);
}

/** Calls the handler of the latest rendering for each event of this name, in all calls of the provider. */
export function useCallEvent<K extends keyof CallEvents>(name: K, handler: (event: CallEvents[K]) => void): void {
  const store = useStore();
  const latest = useRef(handler);
  useCommit(() => {
    latest.current = handler;
  });
  useEffect(() => store.on(name, (event) => latest.current(event)), [store, name]);
}

function useStore(): CallStore {
  const store = useContext(Context);
  if (store === null)
    throw new Error('The hooks and components of @parley-voice/react need a <ParleyProvider> around.');
  return store;
}
