import Basics

extension ChatPicture {
    /// The width and height of a picture in pixels, as its header names them.
    package struct Size: Hashable, Sendable {
        package var width: Int
        package var height: Int

        /// nil: the bytes are no picture of a `Format`, or their header is damaged. Reads no more than the headers in
        /// front of the picture's data.
        package init?(_ bytes: [UInt8]) {
            guard let format = Format(bytes) else { return nil }
            do throws(ByteReader.Truncated) {
                var reader = ByteReader(bytes.span)
                switch format {
                case .png: try self.init(png: &reader)
                case .gif: try self.init(gif: &reader)
                case .jpeg: try self.init(jpeg: &reader)
                case .webp: try self.init(webp: &reader)
                }
            } catch {
                return nil
            }
            guard width > 0, height > 0 else { return nil }
        }

        /// RFC 2083 §4.1.1: IHDR is the first chunk.
        private init(png reader: inout ByteReader) throws(ByteReader.Truncated) {
            try reader.skip(16)
            (width, height) = (Int(try reader.readUInt32()), Int(try reader.readUInt32()))
        }

        /// GIF89a §18, little endian.
        private init(gif reader: inout ByteReader) throws(ByteReader.Truncated) {
            try reader.skip(6)
            (width, height) = (
                Int(try reader.readUInt16().byteSwapped), Int(try reader.readUInt16().byteSwapped)
            )
        }

        /// ITU-T T.81 §B.1.1.3, §B.2.2: segments up to the frame header.
        private init(jpeg reader: inout ByteReader) throws(ByteReader.Truncated) {
            (width, height) = (0, 0)
            try reader.skip(2)
            while true {
                guard try reader.readUInt8() == 0xFF else { return }
                var marker = try reader.readUInt8()
                // Fill bytes.
                while marker == 0xFF { marker = try reader.readUInt8() }
                // TEM and restart marks have no length.
                if marker == 0x01 || (0xD0...0xD7).contains(marker) { continue }
                let length = Int(try reader.readUInt16())
                // SOF0…SOF15 without DHT, JPG and DAC.
                if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
                    try reader.skip(1)
                    (height, width) = (Int(try reader.readUInt16()), Int(try reader.readUInt16()))
                    return
                }
                // The picture's data, or a length that cannot be.
                guard marker != 0xDA, length >= 2 else { return }
                try reader.skip(length - 2)
            }
        }

        /// RFC 9649 §2.5 to §2.7: a lossy, a lossless or an extended file.
        private init(webp reader: inout ByteReader) throws(ByteReader.Truncated) {
            (width, height) = (0, 0)
            try reader.skip(12)
            let chunk = try reader.readUInt32()
            try reader.skip(4)
            switch chunk {
            // "VP8 ": a frame tag and a start code come before two sizes of 14 bits and their scales (RFC 6386 §9.1).
            case 0x5650_3820:
                try reader.skip(6)
                (width, height) = (
                    Int(try reader.readUInt16().byteSwapped & 0x3FFF), Int(try reader.readUInt16().byteSwapped & 0x3FFF)
                )
            // "VP8L": a signature, then 14 bits of each size less one.
            case 0x5650_384C:
                try reader.skip(1)
                let bits = try reader.readUInt32().byteSwapped
                (width, height) = (Int(bits & 0x3FFF) + 1, Int(bits >> 14 & 0x3FFF) + 1)
            // "VP8X": flags, then 24 bits of each size less one.
            case 0x5650_3858:
                try reader.skip(4)
                (width, height) = (
                    Int(try reader.readUInt24().byteSwapped >> 8) + 1, Int(try reader.readUInt24().byteSwapped >> 8) + 1
                )
            default: return
            }
        }
    }
}
