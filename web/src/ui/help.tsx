import { useEffect, useRef } from "preact/hooks";
import type { Say } from "./text.ts";

export function Help({ close, say }: { close: () => void; say: Say }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current?.showModal(), []);
  const keys: [string, string][] = [
    ["/", say("key_search")],
    ["j  k", say("key_move")],
    ["n  N", say("key_next")],
    ["f", say("key_first")],
    ["x", say("key_mark")],
    ["1 2 3 4", say("key_tabs")],
    ["z", say("key_zoom")],
    ["t", say("key_theme")],
    ["l", say("key_lang")],
    ["?", say("key_help")],
  ];
  return (
    <dialog ref={box} class="help" onClose={close} onClick={(event) => event.target === box.current && close()}>
      <h2>{say("keys")}</h2>
      <dl>
        {keys.map(([key, text]) => (
          <>
            <dt>
              {key.split(/ +/).map((each) => (
                <kbd>{each}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
      <p>{say("help_filter")}</p>
      <p>{say("help_link")}</p>
      <button onClick={close}>{say("close")}</button>
    </dialog>
  );
}
