// An engine in linear memory: the kernels, and the arrays and arguments that `vecchess export web` laid out.

/** A number of a kernel's arguments: its word, and the type of an array's items, "" for a number. */
type Word = [index: number, type: string];

interface Call {
  export: string;
  at: number;
  words: Record<string, Word>;
}

export interface Facts {
  schema: number;
  net: string;
  time_steps: number;
  policy_scale: number;
  value_scale: number;
  /** Place of the table from moves to actions. */
  actions: number;
  layers: [name: string, channels: number][];
  nbytes: number;
  calls: Record<string, Call>;
  forests: Record<string, number>;
  /** Offset and type of each field of the records in `vecchess/search/tree/layout.py`. */
  records: Record<string, Record<string, [offset: number, type: string]>>;
  pieces: { at: number; bytes: number }[];
  rules: string;
}

const PAGE = 1 << 16;
const ARRAY_ITEMS = 2;
const ARRAY_PLACE = 4;
const ARRAY_SHAPE = 5;

const ARRAYS = {
  i1: Int8Array, u1: Uint8Array, b1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array,
  i8: BigInt64Array, u8: BigUint64Array, f4: Float32Array, f8: Float64Array,
}; // prettier-ignore
type Items = { [Type in keyof typeof ARRAYS]: InstanceType<(typeof ARRAYS)[Type]> };

export class Memory {
  private constructor(
    readonly facts: Facts,
    readonly bytes: ArrayBuffer,
    private readonly kernels: Record<string, (words: number) => number>,
  ) {}

  /** The engine in `image`, with the kernels in `wasm`. Throws an Error where they do not fit each other. */
  static async load(wasm: Uint8Array<ArrayBuffer>, image: Uint8Array): Promise<Memory> {
    const length = Number(new DataView(image.buffer, image.byteOffset).getBigUint64(0, true));
    const facts = JSON.parse(new TextDecoder().decode(image.subarray(8, 8 + length))) as Facts;
    const pages = Math.ceil(facts.nbytes / PAGE);
    const memory = new WebAssembly.Memory({ initial: pages });
    const { instance } = await WebAssembly.instantiate(wasm, { env: { memory } });
    const kernels = instance.exports as Record<string, (words: number) => number>;
    const missing = Object.values(facts.calls).find((call) => !(call.export in kernels));
    if (missing) throw new Error(`The kernels lack ${missing.export}: they are of another version.`);
    let from = 8 + length;
    for (const { at, bytes } of facts.pieces) {
      new Uint8Array(memory.buffer).set(image.subarray(from, from + bytes), at);
      from += bytes;
    }
    return new Memory(facts, memory.buffer, kernels);
  }

  has(call: string): boolean {
    return call in this.facts.calls;
  }

  /** Runs a kernel with its arguments; returns what it returns, where that is a number. */
  run(call: string): number {
    const { export: name, at } = this.call(call);
    return this.kernels[name]!(at);
  }

  number(call: string, argument: string): bigint {
    return this.words(call)[this.word(call, argument)[0]]!;
  }

  setNumber(call: string, argument: string, value: number | bigint): void {
    this.words(call)[this.word(call, argument)[0]] = BigInt(value);
  }

  /** The items of an array argument, all of them in one row. */
  array<Type extends keyof Items>(call: string, argument: string, type: Type): Items[Type] {
    const [index, own] = this.word(call, argument);
    if (own !== type) throw new Error(`${call}: ${argument} is of ${own}, not ${type}`);
    const words = this.words(call);
    return this.at(Number(words[index + ARRAY_PLACE]), Number(words[index + ARRAY_ITEMS]), type);
  }

  at<Type extends keyof Items>(place: number, count: number, type: Type): Items[Type] {
    return new ARRAYS[type](this.bytes, place, count) as Items[Type];
  }

  /** Lets a kernel see the first `count` items of an array of one dimension, or rows of one with more. */
  resize(call: string, argument: string, count: number): void {
    const [index] = this.word(call, argument);
    const words = this.words(call);
    words[index + ARRAY_SHAPE] = BigInt(count);
  }

  /** Fills an array argument from its beginning, and lets the kernel see so many items. */
  fill(call: string, argument: string, items: ArrayLike<number>): void {
    const array = this.array(call, argument, "i4");
    array.set(items);
    this.resize(call, argument, items.length);
  }

  /** A field of a record at an address. */
  field(record: string, place: number, name: string): number {
    const [offset, type] = this.offset(record, name);
    return Number(this.at(place + offset, 1, type)[0]);
  }

  setField(record: string, place: number, name: string, value: number | bigint): void {
    const [offset, type] = this.offset(record, name);
    const field = this.at(place + offset, 1, type);
    field[0] = (typeof field[0] === "bigint" ? BigInt(value) : Number(value)) as never;
  }

  private offset(record: string, name: string): [number, keyof Items] {
    return this.facts.records[record]![name]! as [number, keyof Items];
  }

  private call(name: string): Call {
    const call = this.facts.calls[name];
    if (!call) throw new Error(`The engine has no call ${name}.`);
    return call;
  }

  private word(call: string, argument: string): Word {
    const word = this.call(call).words[argument];
    if (!word) throw new Error(`${call} has no argument ${argument}.`);
    return word;
  }

  private words(call: string): BigInt64Array {
    const { at, words } = this.call(call);
    return this.at(at, Math.max(...Object.values(words).map(([index]) => index)) + 9, "i8");
  }
}
