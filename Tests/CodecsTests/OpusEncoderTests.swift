import Basics
import Codecs
import TestSupport
import Testing

@Suite struct OpusEncoderTests {
    @Test("A sine is decoded as the same sine", arguments: [OpusEncoder.Application.voice, .audio, .lowDelay])
    func sineRoundTrip(application: OpusEncoder.Application) throws {
        let encoder = try OpusEncoder(bitRate: .kilobits(48), application: application)
        let decoder = try OpusDecoder()
        var output: [Float] = []
        for packet in try packets(encoder, sine(440, count: 48_000)) {
            #expect(OpusDecoder.sampleCount(of: packet) == 960)
            try decoder.decode(packet, into: &output)
        }
        #expect(output.count == 48_000)
        let tone = strength(of: 440, in: output[9600..<43_200])
        #expect((0.45...0.55).contains(tone), "\(tone)")
        #expect(strength(of: 1000, in: output[9600..<43_200]) < 0.02)
        #expect((0..<400).contains(encoder.lookahead))
    }

    @Test("The encoder follows the bit rate")
    func rate() throws {
        let encoder = try OpusEncoder(bitRate: .kilobits(64), application: .audio)
        let sound = zip(sine(300, count: 48_000), sine(1730, count: 48_000)).map { ($0 + $1) / 2 }
        let high = try packets(encoder, sound).reduce(0) { $0 + $1.count } * 8
        encoder.setBitRate(.kilobits(16))
        let low = try packets(encoder, sound).reduce(0) { $0 + $1.count } * 8
        #expect(high > 30_000 && low < 24_000, "\(high) \(low)")
    }

    @Test("Packets of music and long tones also carry the one before", arguments: [5, 10, 20])
    func fecOfMusic(loss: Int) throws {
        let chord = zip(sine(431, count: 96_000), sine(1187, count: 96_000)).map { ($0 + $1) / 2 }
        let encoder = try OpusEncoder(bitRate: .kilobits(32), application: .voice)
        encoder.setFEC(true)
        encoder.setExpectedLoss(loss)
        // Configurations 16 and above are CELT alone, which has no redundancy (RFC 6716 §3.1).
        let capable = try packets(encoder, chord).dropFirst(10).filter { $0[0] >> 3 < 16 }
        #expect(capable.count == 90)
    }
}
