from typing import Literal, Optional, Union

from pydantic import BaseModel, Field, field_validator


class Person(BaseModel):
    name: str
    age: int


class Adult(Person):
    @field_validator("age")
    @classmethod
    def is_adult(cls, age):
        if age < 18:
            raise ValueError("is no age of an adult")
        return age


class Family(BaseModel):
    """What generators write for optional, nullable, listed and repeated values, and a schema that refers to itself."""

    names: list[str] = Field(min_length=1)
    kind: Literal["small", "large"]
    motto: Optional[str] = None
    head: Union[Person, None]
    parts: list["Family"]
