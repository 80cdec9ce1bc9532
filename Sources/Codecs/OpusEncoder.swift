package import Basics
import COpus

/// Encodes one audio stream at 48 kHz in packets of 20, 40 or 60 ms. Not Sendable: one owner.
package final class OpusEncoder {
    package enum Application: Sendable {
        /// Speech, tuned for intelligibility; 6.5 ms look-ahead.
        case voice
        /// Any audio; at complexity 5 a third of the cost of `.voice`.
        case audio
        /// 2.5 ms look-ahead; no speech model, and so no in-band FEC.
        case lowDelay
    }

    package let channels: Int
    /// How many samples at 48 kHz the decoder's output lags behind the input: the pre-skip of an Opus file.
    package let lookahead: Int

    private let encoder: OpaquePointer
    private var buffer = [UInt8](repeating: 0, count: OpusEncoder.maxPacketSize)
    /// Whether the next packet must not depend on earlier ones.
    private var standsAlone = false

    /// Samples per channel of a packet.
    package static let frameSize = 960
    /// RFC 6716 §3.4: a frame of 20 ms has at most 1275 bytes.
    private static let maxPacketSize = 1276

    /// - Parameter complexity: 0…10; 5 is the best ratio of quality to cost.
    package init(
        bitRate: BitRate, channels: Int = 1, application: Application = .voice, complexity: Int = 5
    ) throws(CodecError) {
        guard channels == 1 || channels == 2 else { throw .unsupportedInput("Opus with \(channels) channels") }
        let mode =
            switch application {
            case .voice: OPUS_APPLICATION_VOIP
            case .audio: OPUS_APPLICATION_AUDIO
            case .lowDelay: OPUS_APPLICATION_RESTRICTED_LOWDELAY
            }
        var code: Int32 = 0
        guard let encoder = opus_encoder_create(48_000, Int32(channels), mode, &code), code == OPUS_OK else {
            throw .failed(operation: "Opus encoder", reason: OpusDecoder.reason(code))
        }
        self.encoder = encoder
        self.channels = channels
        var value: Int32 = 0
        let asked = copus_encoder_get(encoder, OPUS_GET_LOOKAHEAD_REQUEST, &value)
        lookahead = Int(value)
        guard asked == OPUS_OK else {
            throw .failed(operation: "Opus encoder's look-ahead", reason: OpusDecoder.reason(asked))
        }
        set(OPUS_SET_COMPLEXITY_REQUEST, Int32(min(max(complexity, 0), 10)))
        setBitRate(bitRate)
    }

    deinit { opus_encoder_destroy(encoder) }

    /// Encodes 960 samples per channel, interleaved, ±1, or two or three times as many, which needs fewer packets and
    /// headers. With DTX on, a packet of 1 or 2 bytes need not be sent.
    package func encode(_ samples: UnsafeBufferPointer<Float>) throws(CodecError) -> [UInt8] {
        let frames = samples.count / (Self.frameSize * channels)
        guard samples.count == frames * Self.frameSize * channels, (1...3).contains(frames),
            let base = samples.baseAddress
        else {
            throw .unsupportedInput("\(samples.count) samples for an Opus packet of \(Self.frameSize * channels)")
        }
        let count = buffer.withUnsafeMutableBufferPointer { output in
            output.baseAddress.map {
                opus_encode_float(encoder, base, Int32(frames * Self.frameSize), $0, opus_int32(output.count))
            } ?? OPUS_ALLOC_FAIL
        }
        if standsAlone {
            standsAlone = false
            set(OPUS_SET_PREDICTION_DISABLED_REQUEST, 0)
        }
        guard count >= 0 else { throw .failed(operation: "Opus encoder", reason: OpusDecoder.reason(count)) }
        return Array(buffer[..<Int(count)])
    }

    /// Continues a stream of another encoder without a click. `before` are the samples right before the next packet's,
    /// as many as `encode` takes. Without them the encoder would begin with its look-ahead, 6.5 ms of silence or of
    /// older samples, and would depend on packets that the decoder has not received.
    package func restart(after before: [Float]) throws(CodecError) {
        let code = copus_encoder_reset(encoder)
        guard code == OPUS_OK else {
            throw .failed(operation: "Opus encoder's reset", reason: OpusDecoder.reason(code))
        }
        _ = try encode(before)
        set(OPUS_SET_PREDICTION_DISABLED_REQUEST, 1)
        standsAlone = true
    }

    /// Encodes the samples of an array.
    package func encode(_ samples: [Float]) throws(CodecError) -> [UInt8] {
        try samples.withUnsafeBufferPointer { (buffer) throws(CodecError) in try encode(buffer) }
    }

    /// Sets the bit rate, clamped to 6…510 kbit/s.
    package func setBitRate(_ rate: BitRate) {
        set(OPUS_SET_BITRATE_REQUEST, Int32(min(max(rate.bitsPerSecond, 6000), 510_000)))
    }

    /// Sets the expected packet loss in per cent: the more, the larger the share of FEC, and the less a packet depends
    /// on the one before.
    package func setExpectedLoss(_ percent: Int) {
        set(OPUS_SET_PACKET_LOSS_PERC_REQUEST, Int32(min(max(percent, 0), 100)))
    }

    /// Sets whether each packet repeats the one before at a lower quality (RFC 6716 §2.1.7). FEC works in the speech
    /// modes only, so all audio is coded as speech then: by itself the encoder would code music and long tones in its
    /// other mode, and no lost packet of them could be recovered.
    package func setFEC(_ isOn: Bool) {
        set(OPUS_SET_INBAND_FEC_REQUEST, isOn ? 1 : 0)
        set(OPUS_SET_SIGNAL_REQUEST, isOn ? OPUS_SIGNAL_VOICE : OPUS_AUTO)
    }

    /// Sets whether silence is coded in packets of one or two bytes (DTX).
    package func setDTX(_ isOn: Bool) {
        set(OPUS_SET_DTX_REQUEST, isOn ? 1 : 0)
    }

    /// Only a library that lacks a request refuses a value within its limits, and the encoder is useful without it, so
    /// a refusal is no error.
    private func set(_ request: Int32, _ value: Int32) {
        let code = copus_encoder_set(encoder, request, value)
        assert(code == OPUS_OK, "Opus request \(request) of \(value): \(OpusDecoder.reason(code))")
    }
}
