// The rule language (docs/rules.md): "rel_l2 > 1e-3 and not (ulp_max <= 4)". What depends on a number that is
// missing is unknown, and only what is certainly true holds.

export type Truth = boolean | undefined;
type Number_ = number | undefined;
export type Look = (name: string) => number | undefined;
export interface Expression {
  holds: (look: Look) => Truth;
  names: string[];
}
export interface Fault {
  at: number; // of the text, from 0
  message: string;
}

type Token = { kind: "number" | "name" | "sign" | "end"; text: string; at: number };

const SIGNS = ["<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "(", ")", ","];
const FUNCTIONS: Record<string, { count: number; of: (x: number, y: number) => number }> = {
  abs: { count: 1, of: (x) => Math.abs(x) },
  min: { count: 2, of: (x, y) => Math.min(x, y) },
  max: { count: 2, of: (x, y) => Math.max(x, y) },
  sqrt: { count: 1, of: (x) => Math.sqrt(x) },
  log10: { count: 1, of: (x) => Math.log10(x) },
};

class Parser {
  private tokens: Token[] = [];
  private next = 0;
  private depth = 0;
  readonly names = new Set<string>();

  constructor(text: string) {
    let at = 0;
    while (at < text.length) {
      const rest = text.slice(at);
      const blank = /^\s+/.exec(rest);
      if (blank) {
        at += blank[0].length;
        continue;
      }
      const number = /^(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?/.exec(rest);
      const name = /^[A-Za-z_]\w*/.exec(rest);
      const sign = SIGNS.find((each) => rest.startsWith(each));
      if (number) this.tokens.push({ kind: "number", text: number[0], at });
      else if (name) this.tokens.push({ kind: "name", text: name[0], at });
      else if (sign) this.tokens.push({ kind: "sign", text: sign, at });
      else throw { at, message: `unexpected '${rest[0]}'` } satisfies Fault;
      at += (number?.[0] ?? name?.[0] ?? sign)!.length;
    }
    this.tokens.push({ kind: "end", text: "", at: text.length });
  }

  private get token(): Token {
    return this.tokens[this.next]!;
  }

  private take(text: string): boolean {
    if (this.token.text !== text || this.token.kind === "number" || this.token.kind === "end") return false;
    ++this.next;
    return true;
  }

  private fault(message: string): Fault {
    const found = this.token.kind === "end" ? "the end" : `'${this.token.text}'`;
    return { at: this.token.at, message: `expected ${message}, found ${found}` };
  }

  whole(): (look: Look) => Truth {
    const found = this.or();
    if (this.token.kind !== "end") throw this.fault("'and', 'or' or the end");
    return found;
  }

  private or(): (look: Look) => Truth {
    let left = this.and();
    while (this.take("or")) {
      const a = left;
      const b = this.and();
      left = (look) => {
        const x = a(look);
        if (x === true) return true;
        const y = b(look);
        return y === true ? true : x === undefined || y === undefined ? undefined : false;
      };
    }
    return left;
  }

  private and(): (look: Look) => Truth {
    let left = this.not();
    while (this.take("and")) {
      const a = left;
      const b = this.not();
      left = (look) => {
        const x = a(look);
        if (x === false) return false;
        const y = b(look);
        return y === false ? false : x === undefined || y === undefined ? undefined : true;
      };
    }
    return left;
  }

  private not(): (look: Look) => Truth {
    if (!this.take("not")) return this.comparison();
    const of = this.deeper(() => this.not());
    return (look) => {
      const x = of(look);
      return x === undefined ? undefined : !x;
    };
  }

  // "(" may open a condition or a number: which of the two it is shows behind it.
  private comparison(): (look: Look) => Truth {
    const start = this.next;
    if (this.token.text === "(") {
      try {
        return this.compared(this.sum());
      } catch (fault) {
        const after = this.next;
        this.next = start + 1;
        const inner = this.deeper(() => this.or());
        if (!this.take(")")) {
          if (after > this.next) throw fault;
          throw this.fault("')'");
        }
        return inner;
      }
    }
    return this.compared(this.sum());
  }

  private compared(left: (look: Look) => Number_): (look: Look) => Truth {
    const sign = this.token.text;
    if (!["<", "<=", ">", ">=", "==", "!="].includes(sign) || this.token.kind !== "sign") throw this.fault("a comparison");
    ++this.next;
    const right = this.sum();
    if (["<", "<=", ">", ">=", "==", "!="].includes(this.token.text)) throw this.fault("'and' or 'or'");
    return (look) => {
      const x = left(look);
      const y = right(look);
      if (x === undefined || y === undefined) return undefined;
      const both = Number.isNaN(x) && Number.isNaN(y);
      if (sign === "==") return both || x === y;
      if (sign === "!=") return !both && x !== y;
      if (Number.isNaN(x) || Number.isNaN(y)) return undefined;
      return sign === "<" ? x < y : sign === "<=" ? x <= y : sign === ">" ? x > y : x >= y;
    };
  }

  private sum(): (look: Look) => Number_ {
    let left = this.product();
    for (;;) {
      const plus = this.take("+");
      if (!plus && !this.take("-")) return left;
      const a = left;
      const b = this.product();
      left = both(a, b, plus ? (x, y) => x + y : (x, y) => x - y);
    }
  }

  private product(): (look: Look) => Number_ {
    let left = this.unary();
    for (;;) {
      const times = this.take("*");
      if (!times && !this.take("/")) return left;
      const a = left;
      const b = this.unary();
      left = both(a, b, times ? (x, y) => x * y : (x, y) => x / y);
    }
  }

  private unary(): (look: Look) => Number_ {
    if (!this.take("-")) return this.atom();
    const of = this.deeper(() => this.unary());
    return (look) => {
      const x = of(look);
      return x === undefined ? undefined : -x;
    };
  }

  private atom(): (look: Look) => Number_ {
    const token = this.token;
    if (token.kind === "number") {
      ++this.next;
      const value = Number(token.text);
      return () => value;
    }
    if (this.take("(")) {
      const inner = this.deeper(() => this.sum());
      if (!this.take(")")) throw this.fault("')'");
      return inner;
    }
    if (token.kind !== "name" || ["and", "or", "not"].includes(token.text)) throw this.fault("a number, a name or '('");
    ++this.next;
    if (token.text === "inf") return () => Infinity;
    if (token.text === "nan") return () => NaN;
    const called = FUNCTIONS[token.text];
    if (called && this.take("(")) {
      const first = this.deeper(() => this.sum());
      if (called.count === 2 && !this.take(",")) throw this.fault("','");
      const second = called.count === 2 ? this.deeper(() => this.sum()) : first;
      if (!this.take(")")) throw this.fault("')'");
      return both(first, second, called.of);
    }
    this.names.add(token.text);
    return (look) => look(token.text);
  }

  private deeper<T>(of: () => T): T {
    if (++this.depth > 200) throw { at: this.token.at, message: "nested too deep" } satisfies Fault;
    const found = of();
    --this.depth;
    return found;
  }
}

function both(a: (look: Look) => Number_, b: (look: Look) => Number_, of: (x: number, y: number) => number): (look: Look) => Number_ {
  return (look) => {
    const x = a(look);
    const y = b(look);
    return x === undefined || y === undefined ? undefined : of(x, y);
  };
}

export function parseExpression(text: string): Expression | Fault {
  try {
    const parser = new Parser(text);
    const holds = parser.whole();
    return { holds, names: [...parser.names] };
  } catch (fault) {
    if (fault instanceof Error) throw fault;
    return fault as Fault;
  }
}

export function isFault(found: Expression | Fault): found is Fault {
  return "message" in found;
}
