/** Work done ahead of whoever takes the results: bounded in number and weight, handed out in order. */

export interface Bounds<I> {
  readonly itemsMax: number
  readonly weightMax: number
  readonly weigh: (item: I) => number
}

/** `perform` must not reject, because a result may never be taken; failures are results like any other. */
export async function* ahead<I, O>(
  items: AsyncIterable<I>,
  { itemsMax, weightMax, weigh }: Bounds<I>,
  perform: (item: I) => Promise<O>,
): AsyncGenerator<O> {
  const underWay: { readonly weight: number; readonly result: Promise<O> }[] = []
  let weight = 0
  for await (const item of items) {
    const itemWeight = weigh(item)
    underWay.push({ weight: itemWeight, result: perform(item) })
    weight += itemWeight
    while (underWay.length >= itemsMax || weight > weightMax) {
      const head = underWay.shift()
      if (head === undefined) break
      yield await head.result
      weight -= head.weight
    }
  }
  for (const { result } of underWay) yield await result
}
