// @vitest-environment happy-dom
import { act, StrictMode, type ReactElement, type ReactNode, useEffect, version } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { Call, type CallEvents } from '../../web/src/call.js';
import { over } from '../../web/src/choose-line.js';
import { CallError } from '../../web/src/errors.js';
import { checkOptions, type ConnectOptions } from '../../web/src/options.js';
import { Lines } from '../../web/test/test-line.js';
import {
  CallButton,
  type CallInReact,
  type ChosenDevices,
  Orb,
  ParleyProvider,
  Transcript,
  useCall,
  useCallEvent,
  useDevices,
  useLevels,
} from '../src/index.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** What vitest.config.ts says. */
    react?: '19';
  }
}

vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);

let lines: Lines;
let root: Root;
let page: HTMLElement;
beforeEach(() => {
  lines = new Lines();
  page = document.createElement('main');
  document.body.append(page);
  root = createRoot(page);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  return () => {
    act(() => root.unmount());
    page.remove();
    vi.useRealTimers();
  };
});

const connect = (options: ConnectOptions): Promise<Call> =>
  Call.begin(checkOptions(options), over(lines.open('socket')));
const OPTIONS = {
  baseUrl: 'https://voice.example',
  token: () => 'st_1',
  agentId: 'olive',
  microphone: false,
  connect,
} as const;

let call: CallInReact;
let renderings = 0;
function Probe(): ReactElement {
  call = useCall();
  renderings++;
  return <output>{call.state}</output>;
}

const show = (children: ReactNode, more: ConnectOptions = {}): Promise<void> =>
  act(async () => {
    root.render(
      <ParleyProvider {...OPTIONS} {...more}>
        <Probe />
        {children}
      </ParleyProvider>,
    );
  });
const begin = async (options?: ConnectOptions): Promise<Call> => {
  const begun = await act(() => call.start(options));
  if (begun === null) throw call.error ?? new Error('the call was given up');
  return begun;
};
const find = (selector: string): HTMLElement => {
  const found = page.querySelector<HTMLElement>(selector);
  if (found === null) throw new Error(`there is no ${selector} in ${page.innerHTML}`);
  return found;
};
const said = (text: string, isFinal: boolean, answer = 1): void =>
  lines.last.tell({ method: 'onresponsetext', data: text, payload: { is_final: isFinal, answer } });
const heard = (data: string, isFinal: boolean, segment = 0): void =>
  lines.last.tell({ method: 'ontranscript', data, payload: { is_final: isFinal, turn: 1, segment } });

it('is tested with React 18, and by another project of the tests with React 19', () => {
  expect(version.split('.')[0]).toBe(inject('react') ?? '18');
});

describe('useCall', () => {
  it('begins, mutes, types, presses keys and ends', async () => {
    await show(null, { metadata: { guest: 'Ann' } });
    expect([call.state, call.call, call.muted, call.error, call.end]).toEqual(['idle', null, false, null, null]);
    let begun: Promise<Call | null> = Promise.resolve(null);
    act(() => void (begun = call.start({ metadata: { guest: 'Bob' } })));
    expect(find('output').textContent).toBe('connecting');
    expect(call.start()).toBe(begun);
    await act(() => begun);
    expect(lines.last.options).toMatchObject({ agentId: 'olive', metadata: { guest: 'Bob' } });
    expect([find('output').textContent, call.call]).toEqual(['listening', await begun]);
    expect(await call.start()).toBe(call.call);
    expect(lines.all).toHaveLength(1);

    act(() => {
      call.mute();
      call.sendText('a table');
      call.pressKeys('12#');
    });
    expect([call.muted, call.call?.muted, call.state]).toEqual([true, true, 'thinking']);
    expect(lines.last.sent).toEqual([
      { method: 'text', data: 'a table' },
      { method: 'dtmf', data: '12#' },
    ]);
    act(() => call.mute(false));
    expect([call.muted, call.call?.muted]).toEqual([false, false]);

    act(() => lines.last.tell({ method: 'onerror', data: 'No such key.' }));
    expect([call.state, call.error?.message]).toEqual(['thinking', 'No such key.']);
    act(() => {
      call.mute();
      call.close();
    });
    expect([call.state, call.end?.status, call.muted]).toEqual(['ended', 'user-ended', false]);
    expect(lines.last.isClosed).toBe(true);
    act(() => call.mute());
    expect(call.muted).toBe(false);

    await begin();
    expect([call.state, call.end, call.error, lines.all.length]).toEqual(['listening', null, null, 2]);
  });

  it('tells why a call does not come about, or broke, until the next one', async () => {
    await show(null);
    lines.refuse = () => new CallError('busy', 'All lines are busy.', { status: 503 });
    expect(await act(() => call.start())).toBeNull();
    expect([call.state, call.error?.code, call.error?.message]).toEqual(['idle', 'busy', 'All lines are busy.']);
    expect(await act(() => call.start({ token: () => Promise.reject(new Error('not signed in')) }))).toBeNull();
    expect(call.error?.code).toBe('token');

    lines.refuse = () => null;
    await begin();
    expect(call.error).toBeNull();
    act(() => lines.last.breaks(1011, 'Something failed.'));
    expect([call.state, call.end?.error?.code, call.error?.message]).toEqual(['ended', 'failed', 'Something failed.']);
  });

  it('gives up a call that is being connected, silently', async () => {
    await show(null);
    lines.refuse = () => 'silence';
    const own = new AbortController();
    for (const giveUp of [() => call.close(), () => own.abort()]) {
      let begun: Promise<Call | null> = Promise.resolve(null);
      await act(async () => void (begun = call.start({ signal: own.signal })));
      expect(call.state).toBe('connecting');
      await act(async () => giveUp());
      expect([await begun, call.state, call.error]).toEqual([null, 'idle', null]);
    }
    expect(lines.tried).toHaveLength(2);
  });

  it('closes a call that its connect function makes after it was given up', async () => {
    let finish: (call: Call) => void = () => undefined;
    await act(async () => {
      root.render(
        <ParleyProvider {...OPTIONS} connect={() => new Promise((resolve) => (finish = resolve))}>
          <Probe />
        </ParleyProvider>,
      );
    });
    let begun: Promise<Call | null> = Promise.resolve(null);
    await act(async () => void (begun = call.start()));
    act(() => call.close());
    const late = await connect(OPTIONS);
    finish(late);
    expect([await begun, late.state]).toEqual([null, 'ended']);
  });

  it('ends its call when the provider leaves the tree, and begins none afterwards', async () => {
    await show(null);
    await begin();
    act(() => root.render(null));
    expect(lines.last.isClosed).toBe(true);
    expect(await call.start()).toBeNull();
    expect(lines.all).toHaveLength(1);
  });

  it('holds one call under StrictMode, even if a child begins it as it appears', async () => {
    function Eager(): null {
      const { start } = useCall();
      useEffect(() => void start(), [start]);
      return null;
    }
    await act(async () => {
      root.render(
        <StrictMode>
          <ParleyProvider {...OPTIONS}>
            <Eager />
            <Probe />
          </ParleyProvider>
        </StrictMode>,
      );
    });
    expect([call.state, lines.tried]).toEqual(['listening', ['socket']]);
    act(() => root.render(null));
    expect(lines.last.isClosed).toBe(true);
  });

  it('takes the options of the latest rendering for the next call', async () => {
    await show(null);
    await show(null, { agentId: 'rose' });
    await begin();
    expect(lines.last.options.agentId).toBe('rose');
  });

  it.each([
    ['useCall', useCall],
    ['useLevels', useLevels],
    ['Orb', () => void Orb({})],
  ])('says that %s has no provider around it', (_, use) => {
    const complaint = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const Lost = (): null => {
      use();
      return null;
    };
    expect(() => act(() => root.render(<Lost />))).toThrow('need a <ParleyProvider> around');
    complaint.mockRestore();
  });
});

describe('levels and events', () => {
  it('render nothing again', async () => {
    let levels: ReturnType<typeof useLevels> = { current: { user: 1, agent: 1 } };
    const Meter = (): null => {
      levels = useLevels();
      return null;
    };
    await show(
      <>
        <Meter />
        <Orb />
      </>,
    );
    expect(levels.current).toEqual({ user: 0, agent: 0 });
    await begin();
    const before = renderings;
    act(() => void vi.advanceTimersByTime(200));
    expect(levels.current).toEqual({ user: 0.25, agent: 0.5 });
    const { style } = find('.parley-orb');
    expect(style.getPropertyValue('--parley-user-level')).toBe('0.75');
    expect(style.getPropertyValue('--parley-agent-level')).toBe('1.00');
    expect(renderings).toBe(before);
    act(() => call.close());
    expect(style.getPropertyValue('--parley-user-level')).toBe('0.00');
    expect([vi.getTimerCount(), levels.current]).toEqual([0, { user: 0, agent: 0 }]);
  });

  it('reach the handler of the latest rendering, in each call, until it is gone', async () => {
    const told: unknown[] = [];
    function Listener({ name, tag }: { name: 'agentText' | 'state'; tag: string }): null {
      useCallEvent(name, (event: CallEvents['agentText'] | CallEvents['state']) => {
        told.push([tag, typeof event === 'string' ? event : event.text]);
      });
      return null;
    }
    await show(<Listener name="agentText" tag="first" />);
    await begin();
    act(() => said('Hello.', false));
    await show(<Listener name="agentText" tag="second" />);
    act(() => said('Hello. How many?', false));
    act(() => call.close());
    await begin();
    act(() => said('Hello again.', false));
    await show(<Listener name="state" tag="third" />);
    act(() => call.sendText('four'));
    await show(null);
    act(() => call.close());
    expect(told).toEqual([
      ['first', 'Hello.'],
      ['second', 'Hello. How many?'],
      ['second', 'Hello again.'],
      ['third', 'thinking'],
    ]);
  });
});

describe('useDevices', () => {
  /** A browser with two microphones, of which one is plugged in later. */
  class Devices extends EventTarget {
    readonly all = [{ kind: 'audioinput', deviceId: 'desk', label: 'Desk' }];
    readonly asked: unknown[] = [];
    refuse = false;

    async enumerateDevices(): Promise<unknown[]> {
      return this.all;
    }

    async getUserMedia(constraints: { audio: { deviceId: { ideal: string } } }): Promise<MediaStream> {
      this.asked.push(constraints.audio.deviceId.ideal);
      if (this.refuse) throw new DOMException('', 'NotReadableError');
      return { getTracks: () => [], getAudioTracks: () => [] } as unknown as MediaStream;
    }
  }

  it('names them as they come and go, and uses those chosen, in this call and the next', async () => {
    const browser = new Devices();
    Object.defineProperty(navigator, 'mediaDevices', { value: browser, configurable: true });
    let devices: ChosenDevices | null = null;
    const Picker = (): null => {
      devices = useDevices();
      return null;
    };
    const now = (): ChosenDevices => devices as unknown as ChosenDevices;
    await show(<Picker />, { microphone: true });
    expect(now()).toMatchObject({ microphones: [{ id: 'desk', label: 'Desk' }], speakers: [], microphone: '' });
    browser.all.push({ kind: 'audioinput', deviceId: 'head', label: 'Headset' });
    await act(async () => void browser.dispatchEvent(new Event('devicechange')));
    expect(now().microphones.map(({ id }) => id)).toEqual(['desk', 'head']);

    await begin();
    await act(() => now().setMicrophone('head'));
    expect([now().microphone, browser.asked]).toEqual(['head', ['', 'head']]);
    browser.refuse = true;
    await act(() => now().setMicrophone('desk'));
    expect([now().microphone, call.error?.code, call.state]).toEqual(['head', 'microphone', 'listening']);
    browser.refuse = false;
    await act(() => now().setSpeaker('loud'));
    act(() => call.close());
    await begin();
    expect([browser.asked.at(-1), lines.last.options.speaker]).toEqual(['head', 'loud']);
    Reflect.deleteProperty(navigator, 'mediaDevices');
  });
});

describe('the components', () => {
  const items = (): [string, string | null, string | null][] =>
    Array.from(page.querySelectorAll('li'), (item) => [
      item.textContent,
      item.getAttribute('data-role'),
      item.getAttribute('aria-live'),
    ]);

  it('show what is said in a log, and announce each entry once, when nothing of it changes any more', async () => {
    await show(<Transcript agentName="Olive" empty="Nothing yet" id="log" />);
    const log = find('#log');
    expect(['role', 'aria-label', 'tabindex', 'class'].map((name) => log.getAttribute(name))).toEqual([
      'log',
      'Transcript',
      '0',
      'parley-transcript',
    ]);
    expect(log.textContent).toBe('Nothing yet');
    await begin();
    act(() => said('For how', false));
    const partial = find('li');
    act(() => said('For how many?', false));
    expect([items(), find('li')]).toEqual([[['OliveFor how many?', 'agent', 'off']], partial]);
    act(() => said('For how many?', true));
    expect(items()).toEqual([['OliveFor how many?', 'agent', null]]);
    expect(find('li')).not.toBe(partial);

    act(() => heard('four', true));
    act(() => heard('people', false, 1));
    expect(items()[1]).toEqual(['Youfour people', 'user', 'off']);
    expect(find('li:nth-child(2) .parley-partial').textContent).toBe(' people');
    act(() => heard('people', true, 1));
    expect(items()[1]).toEqual(['Youfour people', 'user', 'off']);
    act(() => call.sendText('outside'));
    expect(items().slice(1)).toEqual([
      ['Youfour people', 'user', null],
      ['You, typingoutside', 'user', null],
    ]);
    act(() => said('Four people', false, 2));
    act(() => lines.last.tell({ method: 'clear' }));
    act(() => said('Four', true, 2));
    expect(items()[3]).toEqual(['OliveFourinterrupted', 'agent', null]);
    act(() => call.close());
    expect(items()).toHaveLength(4);
    await begin();
    expect(items()).toEqual([]);
  });

  it('show entries as the page wants them', async () => {
    await show(<Transcript className="mine" renderEntry={({ role, text }) => <b>{`${role}: ${text}`}</b>} />);
    await begin();
    act(() => call.pressKeys('7'));
    expect(find('.mine li').innerHTML).toBe('<b>user: 7</b>');
  });

  it('name the state in words, not by looks alone', async () => {
    await show(<Orb label="Olive" words={{ muted: 'Stumm' }} id="orb" />);
    const orb = (): unknown[] => {
      const element = find('#orb');
      return [
        element.getAttribute('role'),
        element.getAttribute('aria-label'),
        element.dataset['state'],
        element.textContent,
      ];
    };
    expect(orb()).toEqual(['img', 'Olive: Ready', 'idle', 'Ready']);
    await begin();
    expect(orb()).toEqual(['img', 'Olive: Listening', 'listening', 'Listening']);
    act(() => call.mute());
    expect(orb()).toEqual(['img', 'Olive: Stumm', 'muted', 'Stumm']);
    act(() => call.sendText('four'));
    expect(orb()).toEqual(['img', 'Olive: Thinking …', 'thinking', 'Thinking …']);
    act(() => lines.last.events.onVoice('playing'));
    expect(orb()).toEqual(['img', 'Olive: Speaking', 'speaking', 'Speaking']);
    act(() => {
      lines.last.tell({ method: 'onsessionended', payload: { status: 'agent-ended' } });
      lines.last.breaks(1000);
    });
    expect(orb()).toEqual(['img', 'Olive: The agent hung up', 'ended', 'The agent hung up']);
  });

  it('have a button that begins a call, gives it up and ends it, unless the page prevents it', async () => {
    let mayCall = false;
    await show(
      <CallButton words={{ cancel: 'Stop' }} onClick={(event) => mayCall || event.preventDefault()} disabled={false} />,
    );
    const button = find('button') as HTMLButtonElement;
    const click = (): Promise<void> => act(async () => button.click());
    expect([button.type, button.textContent]).toEqual(['button', 'Start call']);
    await click();
    expect(call.state).toBe('idle');
    mayCall = true;
    lines.refuse = () => 'silence';
    await click();
    expect([call.state, button.textContent]).toEqual(['connecting', 'Stop']);
    await click();
    expect([call.state, button.textContent]).toEqual(['idle', 'Start call']);
    lines.refuse = () => null;
    await click();
    expect([call.state, button.textContent]).toEqual(['listening', 'End call']);
    await click();
    expect([call.state, button.textContent]).toEqual(['ended', 'Start call']);
  });
});
