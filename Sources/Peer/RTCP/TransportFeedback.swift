import Basics

/// RTCP 205/15 (draft-holmer-rmcat-transport-wide-cc-extensions-01): which transport-wide numbers arrived, and when.
///
/// Only the arrived numbers are stored; all others of `baseSequence ..< baseSequence + statusCount` did not arrive.
struct TransportFeedback: Sendable, Equatable {
    static let format: UInt8 = 15
    /// Ticks of delta times.
    static let deltaMicroseconds: Int64 = 250
    static let referenceMicroseconds: Int64 = 64_000

    struct Arrival: Sendable, Equatable {
        var sequence: SequenceNumber
        /// The time since the arrival before it (the first: since the reference time), in 250 µs.
        var delta: Int16
        init(sequence: SequenceNumber, delta: Int16) {
            self.sequence = sequence
            self.delta = delta
        }
    }

    var senderSSRC: SSRC
    var mediaSSRC: SSRC
    var baseSequence: SequenceNumber
    var statusCount: UInt16
    /// In 64 ms; 24 bits, signed, wraps after 12 days.
    var referenceTime: Int32
    /// Counts feedback packets, so that lost ones can be detected.
    var feedbackCount: UInt8
    /// In the order of their sequence numbers.
    var arrivals: [Arrival]

    init(
        senderSSRC: SSRC, mediaSSRC: SSRC, baseSequence: SequenceNumber, statusCount: UInt16, referenceTime: Int32,
        feedbackCount: UInt8,
        arrivals: [Arrival]
    ) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
        self.baseSequence = baseSequence
        self.statusCount = statusCount
        self.referenceTime = referenceTime
        self.feedbackCount = feedbackCount
        self.arrivals = arrivals
    }

    init(_ reader: inout ByteReader) throws(ByteReader.Truncated) {
        senderSSRC = try reader.readSSRC()
        mediaSSRC = try reader.readSSRC()
        baseSequence = try reader.readSequenceNumber()
        statusCount = try reader.readUInt16()
        referenceTime = Int32(bitPattern: try reader.readUInt24() << 8) >> 8
        feedbackCount = try reader.readUInt8()
        arrivals = []
        // First all symbols, then all deltas. The received numbers are bounded by the bytes available for their deltas.
        var received: [(SequenceNumber, isLarge: Bool)] = []
        var index = 0
        let count = Int(statusCount)
        func note(_ symbol: UInt16, at index: Int, left: Int) throws(ByteReader.Truncated) {
            guard symbol == 1 || symbol == 2 else { return }
            guard received.count < left else { throw ByteReader.Truncated() }
            received.append((baseSequence + index, symbol == 2))
        }
        while index < count {
            let chunk = try reader.readUInt16()
            if chunk & 0x8000 == 0 {
                let length = min(Int(chunk & 0x1FFF), count - index)
                let symbol = chunk >> 13 & 3
                if symbol == 1 || symbol == 2 {
                    for offset in 0..<length { try note(symbol, at: index + offset, left: reader.remaining) }
                }
                index += length
                // An empty run has no meaning, and would let a chunk list of any length pass.
                guard length > 0 else { throw ByteReader.Truncated() }
            } else {
                let isTwoBit = chunk & 0x4000 != 0
                let symbols = min(isTwoBit ? 7 : 14, count - index)
                for offset in 0..<symbols {
                    let symbol = isTwoBit ? chunk >> (12 - 2 * UInt16(offset)) & 3 : chunk >> (13 - UInt16(offset)) & 1
                    try note(symbol, at: index + offset, left: reader.remaining)
                }
                index += symbols
            }
        }
        arrivals.reserveCapacity(received.count)
        for (sequence, isLarge) in received {
            let delta = isLarge ? Int16(bitPattern: try reader.readUInt16()) : Int16(try reader.readUInt8())
            arrivals.append(Arrival(sequence: sequence, delta: delta))
        }
    }

    /// Appends the packet with its header, padded to whole words.
    func encode(into bytes: inout [UInt8]) {
        let start = bytes.count
        RTCPPacket.encodeHeader(RTCPPacket.transportFeedbackType, count: Int(Self.format), bodyBytes: 0, into: &bytes)
        bytes.append32(senderSSRC.rawValue)
        bytes.append32(mediaSSRC.rawValue)
        bytes.append16(baseSequence.rawValue)
        bytes.append16(statusCount)
        bytes.append24(UInt32(bitPattern: referenceTime))
        bytes.append(feedbackCount)
        appendChunks(to: &bytes)
        for arrival in arrivals {
            if (0...255).contains(arrival.delta) {
                bytes.append(UInt8(arrival.delta))
            } else {
                bytes.append16(UInt16(bitPattern: arrival.delta))
            }
        }
        let padding = (4 - (bytes.count - start) % 4) % 4
        if padding > 0 {
            for _ in 1..<padding { bytes.append(0) }
            bytes.append(UInt8(padding))
            bytes[start] |= 0x20
        }
        let words = (bytes.count - start) / 4 - 1
        bytes[start + 2] = UInt8(truncatingIfNeeded: words >> 8)
        bytes[start + 3] = UInt8(truncatingIfNeeded: words)
    }

    private func appendChunks(to bytes: inout [UInt8]) {
        // Symbols as runs: (symbol, length), which keeps the cost of long losses low.
        var runs: [(symbol: UInt16, length: Int)] = []
        func add(_ symbol: UInt16, _ length: Int) {
            guard length > 0 else { return }
            if let last = runs.last, last.symbol == symbol {
                runs[runs.count - 1].length += length
            } else {
                runs.append((symbol, length))
            }
        }
        var position = 0
        for arrival in arrivals {
            let index = arrival.sequence.steps(from: baseSequence)
            guard index >= position, index < Int(statusCount) else { continue }
            add(0, index - position)
            add((0...255).contains(arrival.delta) ? 1 : 2, 1)
            position = index + 1
        }
        add(0, Int(statusCount) - position)

        var run = 0
        while run < runs.count {
            if runs[run].length >= 15 || run == runs.count - 1 {
                let length = min(runs[run].length, 0x1FFF)
                bytes.append16(runs[run].symbol << 13 | UInt16(length))
                runs[run].length -= length
                if runs[run].length == 0 { run += 1 }
                continue
            }
            // A vector: 14 one-bit symbols if no large delta is among them, otherwise 7 of two bits.
            var symbols: [UInt16] = []
            var probe = run
            var taken = 0
            while symbols.count < 14, probe < runs.count {
                if taken < runs[probe].length {
                    symbols.append(runs[probe].symbol)
                    taken += 1
                } else {
                    probe += 1
                    taken = 0
                }
            }
            let isTwoBit = symbols.contains(2)
            let used = symbols.prefix(isTwoBit ? 7 : 14)
            var chunk: UInt16 = isTwoBit ? 0xC000 : 0x8000
            for (offset, symbol) in used.enumerated() {
                chunk |= isTwoBit ? symbol << (12 - 2 * UInt16(offset)) : symbol << (13 - UInt16(offset))
            }
            bytes.append16(chunk)
            var consumed = used.count
            while consumed > 0, run < runs.count {
                let step = min(consumed, runs[run].length)
                runs[run].length -= step
                consumed -= step
                if runs[run].length == 0 { run += 1 }
            }
        }
    }
}
