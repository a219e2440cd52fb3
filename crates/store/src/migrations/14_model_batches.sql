-- A prompt with many observations is asked about in several requests. After the first, the prompt counts as dealt with
-- (`model_at`), and its row here says that the others are still to come.
ALTER TABLE model_failures ADD COLUMN asked_to INTEGER; -- observations up to this id have been asked about
