import Basics
import COpus

/// The Opus work of a room alone: a decode for each peer, an encode for each distinct mix.
final class BareAudio {
    private var decoders: [OpaquePointer] = []
    private var encoders: [OpaquePointer] = []
    private let packets: [[[UInt8]]]
    private var sounds: [[Float]]
    private let speakers: Int
    private var output = [UInt8](repeating: 0, count: 1276)
    private var tick = 0

    /// - Parameters:
    ///   - packets: the packets that each peer sends in a loop; the first `speakers` peers are heard.
    init(packets: [[[UInt8]]], speakers: Int) throws(BenchError) {
        self.packets = packets
        self.speakers = speakers
        sounds = packets.map { _ in [Float](repeating: 0, count: 960) }
        for _ in packets {
            guard let decoder = opus_decoder_create(48_000, 1, nil) else { throw BenchError("no Opus decoder") }
            decoders.append(decoder)
        }
        // Each speaker hears the others; all silent peers hear the same mix.
        for _ in 0..<speakers + (packets.count > speakers ? 1 : 0) {
            guard let encoder = opus_encoder_create(48_000, 1, OPUS_APPLICATION_VOIP, nil) else {
                throw BenchError("no Opus encoder")
            }
            copus_encoder_set(encoder, OPUS_SET_COMPLEXITY_REQUEST, 5)
            copus_encoder_set(encoder, OPUS_SET_BITRATE_REQUEST, 32_000)
            encoders.append(encoder)
        }
    }

    deinit {
        for decoder in decoders { opus_decoder_destroy(decoder) }
        for encoder in encoders { opus_encoder_destroy(encoder) }
    }

    /// Does the work of 20 ms for all peers.
    func run() throws(BenchError) {
        for peer in packets.indices {
            let packet = packets[peer][(tick + peer * 37) % packets[peer].count]
            guard opus_decode_float(decoders[peer], packet, Int32(packet.count), &sounds[peer], 960, 0) == 960 else {
                throw BenchError("a packet does not decode")
            }
        }
        var mix = [Float](repeating: 0, count: 960)
        for peer in 0..<speakers { for index in 0..<960 { mix[index] += sounds[peer][index] } }
        for (number, encoder) in encoders.enumerated() {
            let own = number < speakers ? sounds[number] : nil
            let heard = own.map { own in (0..<960).map { mix[$0] - own[$0] } } ?? mix
            guard opus_encode_float(encoder, heard, 960, &output, Int32(output.count)) > 0 else {
                throw BenchError("Opus gives no packet")
            }
        }
        tick += 1
    }
}
