import Codecs

/// The packets of 20 ms that an encoder makes of samples.
func packets(_ encoder: OpusEncoder, _ samples: [Float]) throws -> [[UInt8]] {
    try stride(from: 0, to: samples.count - 959, by: 960).map { try encoder.encode(Array(samples[$0..<$0 + 960])) }
}
