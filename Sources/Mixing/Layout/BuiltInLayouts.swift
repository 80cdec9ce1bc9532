import CLayouts

/// The files of `layouts/` as they were at build time, for a server that is started without that folder.
enum BuiltInLayouts {
    static let files: [(name: String, json: [UInt8])] = (0..<layout_file_count()).map { index in
        let file = layout_file_at(index)
        return (String(cString: file.name), Array(UnsafeBufferPointer(start: file.json, count: file.count)))
    }
}
