import TestSupport
import Testing

@testable import Mixing

@Suite("The mix that leaves the room")
struct OutgoingMixTests {
    private let mixer = AudioMixer()
    private let voices = [("a", 300.0), ("b", 500.0)]

    /// Mixes a tick of these participants' tones, and returns what leaves the room.
    private func mix(_ tick: Int, _ ids: [String] = ["a", "b"], amplitude: Float = 0.2) -> [Float] {
        let tones = voices.filter { ids.contains($0.0) }.map { id, frequency in
            (id, sine(frequency, from: tick * 960, count: 960, amplitude: amplitude))
        }
        func mix(_ index: Int, _ inputs: [AudioMixInput]) {
            guard index < tones.count else { return mixer.mix(inputs) }
            tones[index].1.withUnsafeBufferPointer {
                mix(index + 1, inputs + [AudioMixInput(id: tones[index].0, samples: $0)])
            }
        }
        mix(0, [])
        return mixer.outgoing
    }

    @Test("It is the full one, without a mix of its own, while nobody is left out or nobody takes it")
    func none() {
        mixer.mixesOutgoing = true
        for tick in 0..<5 { #expect(mix(tick) == mixer.full && !mixer.hasOutgoing) }
        (mixer.mixesOutgoing, mixer.leftOut) = (false, ["a"])
        for tick in 5..<10 { #expect(mix(tick) == mixer.full && !mixer.hasOutgoing) }
    }

    @Test("From the tick on in which somebody is left out it has nothing of that voice, and the full one still has")
    func leftOut() {
        mixer.mixesOutgoing = true
        for tick in 0..<5 { _ = mix(tick) }
        mixer.leftOut = ["a"]
        var (heard, full): ([Float], [Float]) = ([], [])
        for tick in 5..<15 {
            heard += mix(tick)
            full += mixer.full
            #expect(mixer.hasOutgoing)
        }
        // Behind the ramp, in whole periods of both.
        let steady = heard.suffix(5 * 960)
        #expect(strength(of: 300, in: steady) < 1e-4, "\(strength(of: 300, in: steady))")
        #expect(strength(of: 500, in: steady) > 0.19)
        #expect(strength(of: 300, in: full) > 0.19)
        // Whoever is alone and left out leaves exact silence, not even what a limiter held back of it.
        mixer.leftOut = ["a", "b"]
        for tick in 15..<20 { #expect(mix(tick).allSatisfy { $0 == 0 }) }
    }

    @Test("Nothing is left of a loud voice that leaves the room, and then the mix of its own ends")
    func leaves() {
        (mixer.mixesOutgoing, mixer.leftOut) = (true, ["a"])
        for tick in 0..<10 { #expect(mix(tick, ["a"], amplitude: 1).allSatisfy { $0 == 0 }) }
        mixer.leftOut = []
        for tick in 10..<20 { #expect(mix(tick, []).allSatisfy { $0 == 0 }) }
        #expect(!mixer.hasOutgoing)
    }

    @Test("A voice that comes back rises without a click, and the extra mix ends")
    func returns() {
        (mixer.mixesOutgoing, mixer.leftOut) = (true, ["a"])
        for tick in 0..<5 { _ = mix(tick, ["a"]) }
        mixer.leftOut = []
        var heard: [Float] = []
        for tick in 5..<15 { heard += mix(tick, ["a"]) }
        #expect(!mixer.hasOutgoing && strength(of: 300, in: heard.suffix(5 * 960)) > 0.19)
        let steps = zip(heard.dropFirst(), heard).map { abs($0 - $1) }
        #expect((steps.max() ?? 1) < 0.2 * 2 * .pi * 300 / 48_000 * 1.2)
    }
}
