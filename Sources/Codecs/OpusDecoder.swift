import COpus

/// Decodes one Opus stream to mono at 48 kHz and conceals lost packets. Not Sendable: one owner.
package final class OpusDecoder {
    private let decoder: OpaquePointer
    private var scratch = [Float](repeating: 0, count: OpusDecoder.maxPacketSamples)
    /// How many samples were concealed since the last decoded packet.
    private var concealed = 0

    /// RFC 6716 §2.1.4: a packet has at most 120 ms.
    private static let maxPacketSamples = 5760
    /// Concealment sounds natural for about this many samples (100 ms); then it fades …
    private static let fadeStart = 4800
    /// … and is silent after this many (200 ms): a droning voice is worse than a gap.
    private static let fadeEnd = 9600
    /// The ramp back to full volume after a gap that had faded: 5 ms, in samples.
    private static let returnRamp = 240

    package init() throws(CodecError) {
        var code: Int32 = 0
        // Stereo packets are mixed to mono by the decoder itself.
        guard let decoder = opus_decoder_create(48_000, 1, &code), code == OPUS_OK else {
            throw .failed(operation: "Opus decoder", reason: Self.reason(code))
        }
        self.decoder = decoder
    }

    deinit { opus_decoder_destroy(decoder) }

    /// Appends the packet's samples. A damaged packet appends nothing.
    package func decode(_ payload: [UInt8], into output: inout [Float]) throws(CodecError) {
        guard !payload.isEmpty else { throw .invalidData("Opus packet") }
        try decode(payload, samples: Self.maxPacketSamples, fec: false, into: &output)
    }

    /// Appends `samples` samples for the packet before `next`, from the in-band FEC in `next`; conceals where there is
    /// none.
    package func decodeFEC(_ next: [UInt8], samples: Int, into output: inout [Float]) throws(CodecError) {
        guard !next.isEmpty else { throw .invalidData("Opus packet") }
        try decode(next, samples: Self.concealable(samples), fec: true, into: &output)
    }

    /// Appends `samples` concealed samples, extrapolated from the last packet: they fade from 100 ms on and are silent
    /// from 200 ms on.
    package func conceal(samples: Int, into output: inout [Float]) {
        let count = Self.concealable(samples)
        let start = output.count
        if concealed < Self.fadeEnd {
            let made = opus_decode_float(decoder, nil, 0, &scratch, Int32(count), 0)
            output.append(contentsOf: scratch[..<max(Int(made), 0)])
        }
        output.append(contentsOf: repeatElement(0, count: count - (output.count - start)))
        for index in 0..<count {
            let age = concealed + index
            if age >= Self.fadeStart { output[start + index] *= Self.gain(age) }
        }
        concealed += count
    }

    /// Resets the decoder for a new stream.
    package func reset() {
        let code = copus_decoder_reset(decoder)
        assert(code == OPUS_OK, "the Opus decoder cannot be reset: \(Self.reason(code))")
        concealed = 0
    }

    /// How many samples at 48 kHz a packet holds; nil when it is damaged.
    package static func sampleCount(of payload: [UInt8]) -> Int? {
        guard let length = Int32(exactly: payload.count), length > 0 else { return nil }
        let count = opus_packet_get_nb_samples(payload, length, 48_000)
        return count > 0 ? Int(count) : nil
    }

    private func decode(_ payload: [UInt8], samples: Int, fec: Bool, into output: inout [Float]) throws(CodecError) {
        guard let length = Int32(exactly: payload.count) else { throw .invalidData("Opus packet") }
        let count = opus_decode_float(decoder, payload, length, &scratch, Int32(samples), fec ? 1 : 0)
        guard count >= 0 else { throw .invalidData("Opus packet (\(Self.reason(count)))") }
        let start = output.count
        output.append(contentsOf: scratch[..<Int(count)])
        if concealed > Self.fadeStart {
            // The gap ended at this gain; a ramp from it avoids a click.
            let from = Self.gain(concealed)
            for index in 0..<min(Self.returnRamp, Int(count)) {
                output[start + index] *= from + (1 - from) * Float(index) / Float(Self.returnRamp)
            }
        }
        concealed = 0
    }

    private static func gain(_ age: Int) -> Float {
        if age < fadeStart { return 1 }
        return max(0, 1 - Float(age - fadeStart) / Float(fadeEnd - fadeStart))
    }

    /// The count rounded down to 2.5 ms (at least one step, at most one packet), the step in which Opus conceals.
    private static func concealable(_ samples: Int) -> Int {
        min(max(samples / 120 * 120, 120), maxPacketSamples)
    }

    static func reason(_ code: Int32) -> String {
        opus_strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }
}
