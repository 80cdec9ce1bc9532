/// Selects one of a sender's simulcast layers: the smallest that fills the wanted height, among those that arrive.
struct SimulcastSelection: Sendable {
    /// Selects among the layers that are present, in the offered order: browsers put the best last, each twice the size
    /// of the one before.
    ///
    /// - Parameters:
    /// - current: the layer in use and its height, if a frame of it was received.
    /// - wanted: the tile's height; nil selects the best.
    static func choose(present: [Int], current: (layer: Int, height: Int)?, wanted: Int?) -> Int? {
        let layers = present.sorted()
        guard let wanted, let current, current.height > 0 else { return layers.last }
        for layer in layers {
            let steps = layer - current.layer
            let height = steps >= 0 ? current.height << min(steps, 8) : current.height >> min(-steps, 8)
            if height >= wanted { return layer }
        }
        return layers.last
    }
}
